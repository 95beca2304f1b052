/* A stand-in for libnvidia-ml.so.1: as much of NVML as readers of GPU memory use, steered by a text file.
 *
 * NVML_STANDIN        the file; it is looked at on every call and read again when it was replaced (by rename)
 * NVML_STANDIN_TRACE  a file that gets one line per call: pid, thread, function, GPU, return value
 * -DDRIVER=470        leaves out the functions that a driver of that age does not have
 *
 * The file: `key = value` lines, first for the node, then below `[gpu 0-3,6]` for these GPUs; later lines win.
 *   count, seed, init = ERROR, procdir = DIRECTORY of files `<gpu>.<pid>` that hold `BYTES [GI CI]`
 *   name, total, reserved, used (by nobody listed), util, temp, power (watts), absent = 1, mig = 1
 *   proc = PID BYTES|na [C|G|M] [GI CI]       mig_device = GI CI TOTAL USED
 *   fault = PATTERN ERROR    delay = PATTERN MILLISECONDS    hang = PATTERN    crash = PATTERN
 * A pattern is a shell pattern over function names; of the rules that match, the node's and then the GPU's apply in
 * order. A hanging call returns when the file no longer says so. The layouts are those of the public header nvml.h.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef DRIVER
#define DRIVER 580
#endif
#define API __attribute__((visibility("default"))) int
#define MAX_GPUS 16
#define MAX_PROCS 64
#define MAX_MIGS 7
#define MAX_RULES 16
#define MIB (1ULL << 20)
#define NOT_AVAILABLE (~0ULL)
#define NO_INSTANCE 0xFFFFFFFFu

typedef unsigned long long u64;

enum { SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND = 6, INSUFFICIENT_SIZE,
       ARGUMENT_VERSION_MISMATCH = 25, GPU_IS_LOST = 15, UNKNOWN = 999 };

static const struct { const char *name; int code; const char *text; } ERRORS[] = {
    {"UNINITIALIZED", 1, "Uninitialized"}, {"INVALID_ARGUMENT", 2, "Invalid Argument"},
    {"NOT_SUPPORTED", 3, "Not Supported"}, {"NO_PERMISSION", 4, "Insufficient Permissions"},
    {"NOT_FOUND", 6, "Not Found"}, {"INSUFFICIENT_SIZE", 7, "Insufficient Size"},
    {"DRIVER_NOT_LOADED", 9, "Driver Not Loaded"}, {"TIMEOUT", 10, "Timeout"},
    {"GPU_IS_LOST", 15, "GPU is lost"}, {"RESET_REQUIRED", 16, "GPU requires restart"},
    {"LIB_RM_VERSION_MISMATCH", 18, "Driver/library version mismatch"},
    {"ARGUMENT_VERSION_MISMATCH", 25, "Argument version mismatch"}, {"UNKNOWN", 999, "Unknown Error"},
};

typedef struct { unsigned pid, gi, ci; u64 memory; char kind; } Proc;
typedef struct { unsigned gi, ci; u64 total, used; } Mig;
typedef struct { char action; char pattern[96]; int value; } Rule;
typedef struct { Rule rule[MAX_RULES]; int count; } Rules;
typedef struct {
    char name[96];
    u64 total, reserved, used;
    int util, temp, power, absent, mig, procs, migs;
    Proc proc[MAX_PROCS];
    Mig mig_device[MAX_MIGS];
    Rules rules;
} Gpu;
typedef struct { int count, seed, init, broken; char procdir[512]; Rules rules; Gpu gpu[MAX_GPUS]; } Node;
typedef struct { int gpu, mig; } Handle;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Node node;
static struct stat read_from;
static int loaded, initialized;
static Handle handles[MAX_GPUS][MAX_MIGS + 1];

/* The file */

static int error_code(const char *name) {
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++)
        if (!strcmp(name, ERRORS[i].name)) return ERRORS[i].code;
    return atoi(name);
}

static u64 bytes(const char *text) {
    char *end;
    double number = strtod(text, &end);
    if (*end == 'G') number *= 1 << 30;
    if (*end == 'M') number *= 1 << 20;
    return (u64)number;
}

static unsigned parse_gpus(const char *text) {
    unsigned mask = 0;
    for (char *part = strdupa(text), *next; part; part = next) {
        next = strchr(part, ',');
        if (next) *next++ = 0;
        int first = 0, last = -1;
        if (sscanf(part, "%d-%d", &first, &last) < 2) last = first;
        for (int gpu = first; gpu <= last && gpu >= 0 && gpu < MAX_GPUS; gpu++) mask |= 1u << gpu;
    }
    return mask;
}

static int add_rule(Rules *rules, const char *key, const char *value) {
    static const char *const keys[] = {"fault", "delay", "hang", "crash"};
    for (int i = 0; i < 4; i++) {
        if (strcmp(key, keys[i])) continue;
        char number[48] = "";
        Rule rule = {keys[i][0], "", 0};
        if (sscanf(value, "%95s %47s", rule.pattern, number) < 1 || rules->count == MAX_RULES) return -1;
        rule.value = rule.action == 'f' ? error_code(number) : atoi(number);
        rules->rule[rules->count++] = rule;
        return 1;
    }
    return 0;
}

static int set_gpu(Gpu *gpu, const char *key, const char *value) {
    int ruled = add_rule(&gpu->rules, key, value);
    if (ruled) return ruled > 0;
    if (!strcmp(key, "name")) snprintf(gpu->name, sizeof gpu->name, "%s", value);
    else if (!strcmp(key, "total")) gpu->total = bytes(value);
    else if (!strcmp(key, "reserved")) gpu->reserved = bytes(value);
    else if (!strcmp(key, "used")) gpu->used = bytes(value);
    else if (!strcmp(key, "util")) gpu->util = atoi(value);
    else if (!strcmp(key, "temp")) gpu->temp = atoi(value);
    else if (!strcmp(key, "power")) gpu->power = atoi(value);
    else if (!strcmp(key, "absent")) gpu->absent = atoi(value);
    else if (!strcmp(key, "mig")) gpu->mig = atoi(value);
    else if (!strcmp(key, "proc")) {
        char memory[32] = "0";
        Proc proc = {0, NO_INSTANCE, NO_INSTANCE, 0, 'C'};
        if (gpu->procs == MAX_PROCS || sscanf(value, "%u %31s %c %u %u", &proc.pid, memory, &proc.kind, &proc.gi, &proc.ci) < 2) return 0;
        proc.memory = strcmp(memory, "na") ? bytes(memory) : NOT_AVAILABLE;
        gpu->proc[gpu->procs++] = proc;
    } else if (!strcmp(key, "mig_device")) {
        char total[32], used[32];
        Mig mig;
        if (gpu->migs == MAX_MIGS || sscanf(value, "%u %u %31s %31s", &mig.gi, &mig.ci, total, used) < 4) return 0;
        mig.total = bytes(total);
        mig.used = bytes(used);
        gpu->mig_device[gpu->migs++] = mig;
    } else return 0;
    return 1;
}

static int set_node(Node *to, const char *key, const char *value) {
    int ruled = add_rule(&to->rules, key, value);
    if (ruled) return ruled > 0;
    if (!strcmp(key, "count")) to->count = atoi(value);
    else if (!strcmp(key, "seed")) to->seed = atoi(value);
    else if (!strcmp(key, "init")) to->init = error_code(value);
    else if (!strcmp(key, "procdir")) snprintf(to->procdir, sizeof to->procdir, "%s", value);
    else return 0;
    return to->count >= 0 && to->count <= MAX_GPUS;
}

static char *trim(char *text) {
    while (*text == ' ' || *text == '\t') text++;
    size_t length = strcspn(text, "#\n");
    while (length && (text[length - 1] == ' ' || text[length - 1] == '\t')) length--;
    text[length] = 0;
    return text;
}

static void parse(FILE *file, Node *to) {
    memset(to, 0, sizeof *to);
    to->count = 8;
    for (int i = 0; i < MAX_GPUS; i++) {
        Gpu *gpu = &to->gpu[i];
        strcpy(gpu->name, "NVIDIA H100 80GB HBM3");
        gpu->total = 81559 * MIB;
        gpu->reserved = 551 * MIB;
        gpu->temp = 30 + i;
        gpu->power = 70 + i;
    }
    char line[1024];
    unsigned gpus = 0;
    while (file && fgets(line, sizeof line, file)) {
        char *text = trim(line), *value = strchr(text, '=');
        if (!*text) continue;
        if (!strncmp(text, "[gpu ", 5)) {
            gpus = parse_gpus(text + 5);
            continue;
        }
        if (!value) { to->broken = 1; return; }
        *value++ = 0;
        char *key = trim(text);
        value = trim(value);
        int fine = gpus || set_node(to, key, value);
        for (int i = 0; i < MAX_GPUS; i++)
            if (gpus >> i & 1) fine &= set_gpu(&to->gpu[i], key, value);
        if (!fine) { to->broken = 1; return; }
    }
}

static void look(void) {
    const char *path = getenv("NVML_STANDIN");
    struct stat now;
    memset(&now, 0, sizeof now);
    if (!path || stat(path, &now)) memset(&now, 0, sizeof now);
    if (loaded && now.st_ino == read_from.st_ino && now.st_size == read_from.st_size &&
        now.st_mtim.tv_sec == read_from.st_mtim.tv_sec && now.st_mtim.tv_nsec == read_from.st_mtim.tv_nsec) return;
    FILE *file = path ? fopen(path, "re") : NULL;
    if (file) fstat(fileno(file), &now);
    parse(file, &node);
    if (file) fclose(file);
    read_from = now;
    if (!loaded)
        for (int gpu = 0; gpu < MAX_GPUS; gpu++)
            for (int mig = 0; mig <= MAX_MIGS; mig++) handles[gpu][mig] = (Handle){gpu, mig - 1};
    loaded = 1;
}

/* What every call goes through */

static void trace(const char *function, int gpu, int result) {
    const char *path = getenv("NVML_STANDIN_TRACE");
    if (!path) return;
    char line[160];
    int size = snprintf(line, sizeof line, "%d %ld %s %d %d\n", getpid(), (long)syscall(SYS_gettid), function, gpu, result);
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return;
    if (write(file, line, size) < 0) { /* nobody to tell */ }
    close(file);
}

static void pause_for(long milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&time, &time) && errno == EINTR) {}
}

/* The error to answer with, after all delays; looks again while a call hangs. */
static int obey(const char *function, int gpu) {
    for (int again = 1, waited = 0; again;) {
        int result = SUCCESS, delay = 0, crash = 0;
        again = 0;
        pthread_mutex_lock(&lock);
        look();
        Rules *sets[] = {&node.rules, gpu >= 0 ? &node.gpu[gpu].rules : NULL};
        for (int set = 0; set < 2; set++)
            for (int i = 0; sets[set] && i < sets[set]->count; i++) {
                Rule *rule = &sets[set]->rule[i];
                if (fnmatch(rule->pattern, function, 0)) continue;
                if (rule->action == 'f' && !result) result = rule->value;
                if (rule->action == 'd') delay += rule->value;
                if (rule->action == 'h') again = 1;
                if (rule->action == 'c') crash = 1;
            }
        if (node.broken) result = UNKNOWN;
        pthread_mutex_unlock(&lock);
        if (crash) raise(SIGSEGV);
        if (!waited && delay) pause_for(delay);
        waited = 1;
        if (again) pause_for(10);
        else return result;
    }
    return SUCCESS;
}

static int leave(const char *function, int gpu, int result) {
    pthread_mutex_unlock(&lock);
    trace(function, gpu, result);
    return result;
}

static Handle *known(void *device) {
    char *first = (char *)handles, *at = device;
    if (at < first || at >= first + sizeof handles || (at - first) % sizeof(Handle)) return NULL;
    return device;
}

/* Begins a function of the library: from here on `node` is locked, until LEAVE. */
#define ENTER(gpu_number) \
    const int gpu_ = (gpu_number); \
    const int told = obey(__func__, gpu_); \
    pthread_mutex_lock(&lock); \
    look(); \
    if (told) return leave(__func__, gpu_, told); \
    if (!initialized) return leave(__func__, gpu_, UNINITIALIZED)
#define LEAVE(result) return leave(__func__, gpu_, (result))

/* The same for one that is about a device. */
#define ENTER_DEVICE(device) \
    Handle *const handle = known(device); \
    ENTER(handle ? handle->gpu : -1); \
    if (!handle) LEAVE(INVALID_ARGUMENT); \
    Gpu *const gpu = &node.gpu[handle->gpu]; \
    Mig *const mig = handle->mig >= 0 ? &gpu->mig_device[handle->mig] : NULL; \
    (void)mig; \
    if (gpu->absent || handle->gpu >= node.count) LEAVE(GPU_IS_LOST); \
    if (handle->mig >= gpu->migs) LEAVE(NOT_FOUND)

static void copy(char *to, unsigned size, const char *text) { snprintf(to, size, "%s", text); }

/* The library and the system */

static int start(const char *function) {
    int result = obey(function, -1);
    pthread_mutex_lock(&lock);
    look();
    if (!result) result = node.init;
    if (!result) initialized++;
    return leave(function, -1, result);
}

API nvmlInit(void) { return start(__func__); }
API nvmlInit_v2(void) { return start(__func__); }
API nvmlInitWithFlags(unsigned flags) { (void)flags; return start(__func__); }

API nvmlShutdown(void) {
    ENTER(-1);
    initialized--;
    LEAVE(SUCCESS);
}

__attribute__((visibility("default"))) const char *nvmlErrorString(int code) {
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++)
        if (ERRORS[i].code == code) return ERRORS[i].text;
    return code ? "Unknown Error" : "Success";
}

API nvmlSystemGetDriverVersion(char *to, unsigned size) {
    ENTER(-1);
    snprintf(to, size, "%d.65.06", DRIVER);
    LEAVE(SUCCESS);
}

API nvmlSystemGetNVMLVersion(char *to, unsigned size) {
    ENTER(-1);
    snprintf(to, size, "12.%d.65.06", DRIVER);
    LEAVE(SUCCESS);
}

API nvmlSystemGetCudaDriverVersion(int *to) { ENTER(-1); *to = 12080; LEAVE(SUCCESS); }
API nvmlSystemGetCudaDriverVersion_v2(int *to) { ENTER(-1); *to = 12080; LEAVE(SUCCESS); }

/* Finding devices */

static void uuid_of(Handle *handle, char *to, unsigned size) {
    unsigned gpu = handle->gpu;
    if (handle->mig < 0) snprintf(to, size, "GPU-%08x-0000-4000-8000-%012x", 0xa0000000u + gpu * 0x01010101u, node.seed);
    else snprintf(to, size, "MIG-%08x-0000-5000-8000-%012x", 0xb0000000u + gpu * 0x01010101u + handle->mig, node.seed);
}

static void bus_of(int gpu, char *to, unsigned size, int digits) {
    snprintf(to, size, "%0*x:%02x:00.0", digits, 0, 0x10 + gpu * 8);
}

API nvmlDeviceGetCount_v2(unsigned *count) {
    ENTER(-1);
    *count = 0;
    for (int i = 0; i < node.count; i++) *count += !node.gpu[i].absent;
    LEAVE(SUCCESS);
}

API nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    int found = -1;
    pthread_mutex_lock(&lock);
    look();
    for (int i = 0; i < node.count; i++)
        if (!node.gpu[i].absent && index-- == 0) found = i;
    pthread_mutex_unlock(&lock);
    ENTER(found);
    if (found < 0) LEAVE(INVALID_ARGUMENT);
    *device = &handles[found][0];
    LEAVE(SUCCESS);
}

API nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
    ENTER(-1);
    for (int i = 0; i < node.count; i++)
        for (int m = 0; m <= node.gpu[i].migs && !node.gpu[i].absent; m++) {
            char own[80];
            uuid_of(&handles[i][m], own, sizeof own);
            if (!strcasecmp(own, uuid)) { *device = &handles[i][m]; LEAVE(SUCCESS); }
        }
    LEAVE(NOT_FOUND);
}

API nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
    ENTER(-1);
    for (int i = 0; i < node.count; i++) {
        char own[32], short_own[32];
        bus_of(i, own, sizeof own, 8);
        bus_of(i, short_own, sizeof short_own, 4);
        if ((!strcasecmp(own, bus) || !strcasecmp(short_own, bus)) && !node.gpu[i].absent) {
            *device = &handles[i][0];
            LEAVE(SUCCESS);
        }
    }
    LEAVE(NOT_FOUND);
}

API nvmlDeviceGetIndex(void *device, unsigned *index) {
    ENTER_DEVICE(device);
    *index = 0;
    for (int i = 0; i < handle->gpu; i++) *index += !node.gpu[i].absent;
    if (mig) *index = handle->mig;
    LEAVE(SUCCESS);
}

API nvmlDeviceGetMinorNumber(void *device, unsigned *minor) {
    ENTER_DEVICE(device);
    *minor = handle->gpu;
    LEAVE(SUCCESS);
}

API nvmlDeviceGetName(void *device, char *to, unsigned size) {
    ENTER_DEVICE(device);
    char name[160];
    if (mig) snprintf(name, sizeof name, "%s MIG %ug.%ugb", gpu->name, (unsigned)(mig->total / (10240 * MIB)), (unsigned)(mig->total >> 30));
    else snprintf(name, sizeof name, "%s", gpu->name);
    copy(to, size, name);
    LEAVE(SUCCESS);
}

API nvmlDeviceGetUUID(void *device, char *to, unsigned size) {
    ENTER_DEVICE(device);
    uuid_of(handle, to, size);
    LEAVE(SUCCESS);
}

typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char text[32]; } Pci;

API nvmlDeviceGetPciInfo_v3(void *device, Pci *to) {
    ENTER_DEVICE(device);
    memset(to, 0, sizeof *to);
    bus_of(handle->gpu, to->legacy, sizeof to->legacy, 4);
    bus_of(handle->gpu, to->text, sizeof to->text, 8);
    to->bus = 0x10 + handle->gpu * 8;
    LEAVE(SUCCESS);
}

/* Memory and processes */

static int list(int gpu_number, Proc *to) {
    Gpu *gpu = &node.gpu[gpu_number];
    int count = gpu->procs;
    memcpy(to, gpu->proc, sizeof(Proc) * count);
    DIR *directory = *node.procdir ? opendir(node.procdir) : NULL;
    for (struct dirent *entry; directory && (entry = readdir(directory)) && count < MAX_PROCS;) {
        int number;
        unsigned pid;
        char path[1024], text[32] = "0";
        if (sscanf(entry->d_name, "%d.%u", &number, &pid) != 2 || number != gpu_number) continue;
        snprintf(path, sizeof path, "/proc/%u", pid);
        if (access(path, F_OK)) continue; /* its memory went with it */
        snprintf(path, sizeof path, "%s/%s", node.procdir, entry->d_name);
        FILE *file = fopen(path, "re");
        if (!file) continue;
        Proc proc = {pid, NO_INSTANCE, NO_INSTANCE, 0, 'C'};
        if (fscanf(file, "%31s %u %u", text, &proc.gi, &proc.ci) >= 1) {
            proc.memory = bytes(text);
            to[count++] = proc;
        }
        fclose(file);
    }
    if (directory) closedir(directory);
    return count;
}

static void memory_of(Handle *handle, u64 *total, u64 *reserved, u64 *used) {
    Gpu *gpu = &node.gpu[handle->gpu];
    Proc procs[MAX_PROCS];
    int count = list(handle->gpu, procs);
    Mig *mig = handle->mig >= 0 ? &gpu->mig_device[handle->mig] : NULL;
    *total = mig ? mig->total : gpu->total;
    *reserved = mig ? 0 : gpu->reserved;
    *used = mig ? mig->used : gpu->used;
    for (int i = 0; !mig && i < gpu->migs; i++) *used += gpu->mig_device[i].used;
    for (int i = 0; i < count; i++)
        if (procs[i].memory != NOT_AVAILABLE && (!mig || procs[i].gi == mig->gi)) *used += procs[i].memory;
    if (*used > *total - *reserved) *used = *total - *reserved;
}

API nvmlDeviceGetMemoryInfo(void *device, u64 to[3]) {
    ENTER_DEVICE(device);
    u64 reserved;
    memory_of(handle, &to[0], &reserved, &to[2]);
    to[2] += reserved; /* as the first interface had it */
    to[1] = to[0] - to[2];
    LEAVE(SUCCESS);
}

#if DRIVER >= 510
typedef struct { unsigned version; u64 total, reserved, free, used; } Memory2;

API nvmlDeviceGetMemoryInfo_v2(void *device, Memory2 *to) {
    ENTER_DEVICE(device);
    if (to->version != (sizeof *to | 2u << 24)) LEAVE(ARGUMENT_VERSION_MISMATCH);
    memory_of(handle, &to->total, &to->reserved, &to->used);
    to->free = to->total - to->reserved - to->used;
    LEAVE(SUCCESS);
}
#endif

typedef struct { unsigned pid; u64 memory; } Info1;
typedef struct { unsigned pid; u64 memory; unsigned gi, ci; } Info2;

static int fill(Handle *handle, char kind, int version, unsigned *count, void *to) {
    Gpu *gpu = &node.gpu[handle->gpu];
    Mig *mig = handle->mig >= 0 ? &gpu->mig_device[handle->mig] : NULL;
    Proc procs[MAX_PROCS];
    unsigned found = 0, room = *count;
    int all = list(handle->gpu, procs);
    for (int i = 0; i < all; i++)
        if (procs[i].kind == kind && (!mig || (procs[i].gi == mig->gi && procs[i].ci == mig->ci))) procs[found++] = procs[i];
    *count = found;
    if (!found) return SUCCESS;
    if (room < found) return INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < found; i++) {
        if (version == 1) ((Info1 *)to)[i] = (Info1){procs[i].pid, procs[i].memory};
        else ((Info2 *)to)[i] = (Info2){procs[i].pid, procs[i].memory, procs[i].gi, procs[i].ci};
    }
    return SUCCESS;
}

#define PROCESSES(name, kind, version) \
    API name(void *device, unsigned *count, void *to) { \
        ENTER_DEVICE(device); \
        LEAVE(fill(handle, kind, version, count, to)); \
    }
PROCESSES(nvmlDeviceGetComputeRunningProcesses, 'C', 1)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, 'G', 1)
#if DRIVER >= 450
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, 'C', 2)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, 'G', 2)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, 'M', 2)
#endif
#if DRIVER >= 510
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, 'C', 3)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, 'G', 3)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, 'M', 3)
#endif

/* Figures */

typedef struct { unsigned gpu, memory; } Rates;

API nvmlDeviceGetUtilizationRates(void *device, Rates *to) {
    ENTER_DEVICE(device);
    if (gpu->mig) LEAVE(NOT_SUPPORTED);
    *to = (Rates){gpu->util, gpu->util / 2};
    LEAVE(SUCCESS);
}

/* A figure that a whole GPU has and its instances do not. */
#define FIGURE(name, value) \
    API name(void *device, unsigned *to) { \
        ENTER_DEVICE(device); \
        if (mig) LEAVE(NOT_SUPPORTED); \
        *to = (value); \
        LEAVE(SUCCESS); \
    }
FIGURE(nvmlDeviceGetPowerUsage, gpu->power * 1000)
FIGURE(nvmlDeviceGetPowerManagementLimit, 700000)
FIGURE(nvmlDeviceGetEnforcedPowerLimit, 700000)
FIGURE(nvmlDeviceGetFanSpeed, 0)
FIGURE(nvmlDeviceGetComputeMode, 0)
FIGURE(nvmlDeviceGetPersistenceMode, 1)
FIGURE(nvmlDeviceGetDisplayActive, 0)
FIGURE(nvmlDeviceGetDisplayMode, 0)
FIGURE(nvmlDeviceGetPerformanceState, 0)

API nvmlDeviceGetTemperature(void *device, int sensor, unsigned *to) {
    ENTER_DEVICE(device);
    if (mig || sensor) LEAVE(NOT_SUPPORTED);
    *to = gpu->temp;
    LEAVE(SUCCESS);
}

#if DRIVER >= 570
typedef struct { unsigned version, sensor; int value; } Temperature;

API nvmlDeviceGetTemperatureV(void *device, Temperature *to) {
    ENTER_DEVICE(device);
    if (to->version != (sizeof *to | 1u << 24)) LEAVE(ARGUMENT_VERSION_MISMATCH);
    if (mig || to->sensor) LEAVE(NOT_SUPPORTED);
    to->value = gpu->temp;
    LEAVE(SUCCESS);
}
#endif

#define TWO_FIGURES(name) \
    API name(void *device, unsigned *to, unsigned *period) { \
        ENTER_DEVICE(device); \
        if (mig) LEAVE(NOT_SUPPORTED); \
        *to = 0; \
        *period = 1000000; \
        LEAVE(SUCCESS); \
    }
TWO_FIGURES(nvmlDeviceGetEncoderUtilization)
TWO_FIGURES(nvmlDeviceGetDecoderUtilization)

#define KIND_OF_FIGURE(name, value) \
    API name(void *device, unsigned kind, unsigned *to) { \
        ENTER_DEVICE(device); \
        (void)kind; \
        if (mig) LEAVE(NOT_SUPPORTED); \
        *to = (value); \
        LEAVE(SUCCESS); \
    }
KIND_OF_FIGURE(nvmlDeviceGetClockInfo, 1755)
KIND_OF_FIGURE(nvmlDeviceGetMaxClockInfo, 1980)
KIND_OF_FIGURE(nvmlDeviceGetPcieThroughput, 1024)

/* Multi-instance GPUs */

API nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending) {
    ENTER_DEVICE(device);
    *current = *pending = gpu->mig;
    LEAVE(SUCCESS);
}

API nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count) {
    ENTER_DEVICE(device);
    *count = MAX_MIGS;
    LEAVE(SUCCESS);
}

API nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **to) {
    ENTER_DEVICE(device);
    if (mig || !gpu->mig) LEAVE(NOT_SUPPORTED);
    if (index >= (unsigned)gpu->migs) LEAVE(index < MAX_MIGS ? NOT_FOUND : INVALID_ARGUMENT);
    *to = &handles[handle->gpu][index + 1];
    LEAVE(SUCCESS);
}

API nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *device, void **to) {
    ENTER_DEVICE(device);
    if (!mig) LEAVE(INVALID_ARGUMENT);
    *to = &handles[handle->gpu][0];
    LEAVE(SUCCESS);
}

API nvmlDeviceIsMigDeviceHandle(void *device, unsigned *is) {
    ENTER_DEVICE(device);
    *is = mig != NULL;
    LEAVE(SUCCESS);
}

API nvmlDeviceGetGpuInstanceId(void *device, unsigned *id) {
    ENTER_DEVICE(device);
    if (!mig) LEAVE(NOT_SUPPORTED);
    *id = mig->gi;
    LEAVE(SUCCESS);
}

API nvmlDeviceGetComputeInstanceId(void *device, unsigned *id) {
    ENTER_DEVICE(device);
    if (!mig) LEAVE(NOT_SUPPORTED);
    *id = mig->ci;
    LEAVE(SUCCESS);
}

/* What others ask for besides, so that they run */

API nvmlDeviceGetBAR1MemoryInfo(void *device, u64 to[3]) {
    ENTER_DEVICE(device);
    to[0] = to[1] = 128 << 10;
    to[2] = 0;
    LEAVE(SUCCESS);
}

API nvmlDeviceGetDriverModel(void *device, unsigned *current, unsigned *pending) {
    ENTER_DEVICE(device);
    *current = *pending = 0;
    LEAVE(NOT_SUPPORTED);
}

API nvmlDeviceGetTotalEccErrors(void *device, int kind, int counter, u64 *to) {
    ENTER_DEVICE(device);
    *to = kind + counter;
    LEAVE(NOT_SUPPORTED);
}

API nvmlDeviceGetProcessUtilization(void *device, void *to, unsigned *count, u64 since) {
    ENTER_DEVICE(device);
    (void)to, (void)since;
    *count = 0;
    LEAVE(NOT_FOUND);
}
