"""Scripts are followed as a shell would, without running anything."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from placetui.frameworks.shell import Command, ScriptLine, ShellSyntaxError, Traced, Unknown, read_script


def commands(text: str, **given: object) -> list[list[str]]:
    return [list(command.words) for command in read_script(text, **given).commands]  # type: ignore[arg-type]


def run_of(text: str, **given: object) -> Command:
    """The only command called `run`."""
    script = read_script(text, **given)  # type: ignore[arg-type]
    (found,) = [command for command in script.commands if command.words[0] == "run"]
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", [["a", "b"]]),
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a \\\n  b \\\r\n  c", [["a", "b", "c"]]),
        ("a ''", [["a", ""]]),
        ("a # comment's end\nb", [["a"], ["b"]]),
        ("a b#c", [["a", "b#c"]]),
        ("a && b; c | d &", [["a"], ["b"], ["c"], ["d"]]),
        ("a 2>&1 > log b", [["a", "b"]]),
        ("a $HOME ${X} '$Y'", [["a", "$HOME", "${X}", "$Y"]]),
        ("N=3\na $N ${N}x '$N' \\$N", [["a", "3", "3x", "$N", "$N"]]),
        ("export N=3 M=4\na $N$M", [["export"], ["a", "34"]]),
        ('D="$(cd "$(dirname "$0")" && pwd)"\nrun $D', [["run", "$D"]]),
        ("a ${X:-a b} $(b c)", [["a", "a", "b", "$(b c)"]]),
        ('a "b\\"c\\n"', [["a", 'b"c\\n']]),
        ("cat > f <<END\nit's ${X} )\nEND\nrun", [["cat"], ["run"]]),
        ("run <(a b) x", [["run", "<(a b)", "x"]]),
    ],
)
def test_words_as_a_shell_sees_them(text: str, expected: list[list[str]]) -> None:
    assert commands(text) == expected


@pytest.mark.parametrize(
    "script",
    [
        'A=(x \'y z\' # no\n  w)\nrun ${A[@]} "${A[@]}" "${A[*]}" ${#A[@]} ${A[1]} $A',
        "A=(x)\nA+=(y)\nrun ${A[@]}",
        "A=(--colocate)\nA=(--rollout-num-gpus 8)\nrun ${A[@]}",
        'A=()\nrun "${A[@]}" "$B" x${B}y ${B}',
        'X=5\nX=\nrun "$X" a${X}b $X',
        "X=3\nX+=4\nrun $X",
        "A=(a b)\nA[1]=c\nA[2]=d\nrun ${A[@]}",
        'run ${X:-8} ${X:-${Y:-9}} "${X:-a b}" ${X:-a b} ${X-7} "${X:-"q r"}"',
        "X=1\nrun ${X:-8} ${X:+set} ${Y:+set} ${X:=2} ${Y:=3} $Y",
        "A=12 B=5\nrun $((A*B)) $((A / B)) $((-A / B)) $((A % B)) $(( $A - ${B} )) $(((A + 1) * 2)) $((A > B))",
        "X='a  b'\nrun $X \"$X\" p$X\"q\" 'x'$X",
        "X=model.tar.gz\nrun ${X%.*} ${X%%.*} ${X#*.} ${X##*.} ${X/tar/zip} ${#X} ${X^^} ${X,,}",
        "if [ 3 -gt 2 ]; then X=1; elif [ 1 = 1 ]; then X=2; else X=3; fi\nrun $X",
        "if [[ abc == a* && ! 1 -eq 2 ]]; then run yes; fi",
        'if [ -z "$NOT_SET_HERE" ]; then run empty; else run full; fi',
        "M=qwen-4b\ncase $M in llama*) N=1 ;; qwen*|glm*) N=2 ;; *) N=3 ;; esac\nrun $N",
        "for X in 1 2 3; do Y=$((Y0 + X)); done\nrun $X",
        "f() {\n  local N=$1\n  run $N \"$2\" $#\n}\nf 3 'a b'",
        "function f { run $1; return 1; run never; }\nf 2 || true",
        "(X=2; true)\nX=${X:-1}\nrun $X",
        "{ X=2; }\nrun $X",
        "X=1 && Y=2 || Y=3\nrun $X $Y",
        "! false && run a",
        "if (( 3 > 2 )); then run a; fi",
        "read -ra A <<< '--a 1 --b 2'\nrun ${A[@]}",
        "set -- p q\nshift\nrun $1 $#",
        "X=a; unset X; run ${X:-none}",
        "run a; exit 0\nrun b",
        "cat > /dev/null <<'END'\nrun $(no) it's\nEND\nrun a",
        "run a\\\n b 'c\nd' # e",
        "L=0,1,5\nrun $(echo $L | tr ',' '\\n' | wc -l) $(echo \"${L}\" | tr ',' '\\n' | wc -l)",
        "run {a} [b] c=d ~x e,f",
        "M='*'\ncase $M in '*') run literal ;; *) run any ;; esac",
        "f() { local N=4; run $N; }\nN=2\nf\nrun $N",
        "get() { echo $(( $1 * 2 )); }\nN=$(get 4)\nrun $N `get 3`",
        "i=0\nwhile [ $i -lt 3 ]; do A+=(--x $i); i=$((i+1)); done\nrun ${A[@]} $i",
        "for ((i=0; i<3; i++)); do A+=($i); done\nrun ${A[@]}",
        "i=5\n((i++))\n(( i += 2 ))\nrun $i $((i > 3 && i != 9)) $((i < 3 || 0)) $((--i)) $i $(((i + 2) / 3 * 3))",
        "run '{a,b}' {1} '{1..3}'",
        "for i in 1 2 3 4; do [ $i = 2 ] && continue; if [ $i = 4 ]; then break; fi; A+=($i); done\nrun ${A[@]}",
        "IFS=',' read -ra G <<< '0,1,2,3'\nrun ${#G[@]} ${G[2]}",
        "read A B <<< '1 2 3'\nrun $A \"$B\"",
        "N=1\necho x | while read y; do N=2; done\nrun $N",
        "A=(a b c d)\nrun ${A[-1]} ${A[2]}",
        "set -- --n 4 --x\nwhile [[ $# -gt 0 ]]; do case $1 in --n) N=$2; shift 2;; *) shift;; esac; done\nrun $N",
        "X=$'a\\tb'\nrun \"$X\"",
        "printf -v X '%s-%d' a 3\neval \"Y=4\"\nrun $X $Y",
        "run $(dirname /a/b/c.sh) $(basename /a/b/c.sh .sh) $(seq 1 3)",
        "run $(if [ 2 -gt 1 ]; then echo big; else echo small; fi) $([ 1 = 2 ] && echo yes || echo no)",
        "f() { return 1; }\nif f; then run a; else run b; fi",
        "if [[ a1 =~ ^[a-z0-9]+$ && b != x* ]]; then run matches; fi",
        """run ${X:-'a b'} "${X:-'a b'}" ${X:-"a b" c} "${X:-"it's"}" ${X:-{a}} "${X:-{\\"k\\": 1}}" """,
        'X=a; run ${X:+\'q r\'} "${X:+\'q r\'}" ${X:+"q r" s} "${B:+y}" ${B+set}',
        "N=3; run $[N*2] $(( (1 + 2) * N ))",
        "HOME=/h; X=~/m:~/n; run ~ ~/x a~ '~' $X P=~/q --p=~/q",
        "run $'a\\'b' `echo \\`echo b\\`` $(echo 'it)' # it's\n)",
        'A=(x y); A=z; A+=w; A[0]+=k; run "${A[@]}"; IFS=,; run "${A[*]}" ${#A[0]}',
        'X=a:b::c; IFS=:; run $X; A=($X); run ${#A[@]} "${A[*]}"',
        'X=abcabc; run ${X//b/x} ${X//[ab]/z} ${X/b} ${X#"[a]"}',
        "for i in 1 2; do for j in a b; do break; done; run $j; done; run end",
        "[[ 8 -eq 8 && 3+1 -eq 4 ]] && run double; [ 8 -eq 010 ] || run single",
        "case 7b in [0-9]*) run digit ;; *) run other ;; esac; [[ x == [!a-c] ]] && run negated",
        "set -e\nfalse || run a\nif false; then run b; fi\n[ 1 = 2 ] && run c\nrun d\nfalse\nrun never",
        "f() { X=$1; }; X=1; X=5 f 2; run $X; X=7 eval 'run $X'; run $X",
        "while read -r k v; do run $k \"$v\"; done <<< $'a 1 2\\nb 3'",
        'X=$(cat <<END\na $((1 + 1)) "b"\nEND\n); run "$X"; { echo log; } >&2; run $( { echo log; } >&2; echo 5)',
        "set a b; run $# ${3-none}; shift 3; run $1",
    ],
)
def test_the_same_words_as_from_bash(script: str) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash to compare with")
    prelude = 'run() { printf "%s\\1" "$@"; printf "\\2"; }\nY0=0\n'
    printed = subprocess.run([bash, "-c", prelude + script], capture_output=True, text=True, check=False, env={}).stdout
    expected = [one.split("\1")[:-1] for one in printed.split("\2")[:-1]]
    found = read_script(script, environment={"Y0": "0", "B": ""} if "$B" in script else {"Y0": "0"}).commands
    assert [list(command.words[1:]) for command in found if command.words[0] == "run"] == expected
    assert expected


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"])), min_size=1))
def test_what_is_quoted_comes_back(words: list[str]) -> None:
    assert commands(shlex.join(["run", *words])) == [["run", *words]]


@pytest.mark.parametrize(
    "text",
    ["a 'b", 'a "b', "it's", "A=(x", "a ${X", "a $(b", "a `b", "if true; then a", "case x in", "a )", "{ a", "[[ a"],
)
def test_what_is_not_closed_is_an_error(text: str) -> None:
    with pytest.raises(ShellSyntaxError, match="line 1"):
        read_script(text)


@pytest.mark.parametrize("text", ["case a in a) b ;& c) d ;; esac", "let N=1", "for i in 1; do break 2; done"])
def test_what_would_change_the_course_and_is_not_followed_is_an_error(text: str) -> None:
    with pytest.raises(ShellSyntaxError, match=r"line 1: `.+` cannot be followed"):
        read_script(text)


@given(st.text() | st.text("if;thenfcasdo(){}[]$\"'`\\#<>|&=!a1 \n@*:-+%/"))
@example("A=(")
@example("${")
@example("\\")
@example("A[")
@example("$((1/0)) ${A[9]} ${A[-1]} $((9**9**9))")
@example("(" * 5_000)
@example("$((" + "(" * 2_000 + "))" + ")" * 2_000)
def test_no_text_breaks_the_reader(text: str) -> None:
    with suppress(ShellSyntaxError):
        read_script(text)


@pytest.mark.parametrize(
    "text",
    [
        "f() { f; f; }\nf",
        "X=aaaaaaaa\n" + "X=$X$X$X$X\n" * 40,
        "for a in 1 2 3 4 5 6 7 8 9; do " * 9 + "b; " + "done;" * 9,
    ],
)
def test_a_script_without_end_is_given_up(text: str) -> None:
    found = 0
    with suppress(ShellSyntaxError):
        found = len(read_script(text).commands)
    assert found < 100_000


# What only running the script would tell


def unknown_of(script: str, **given: object) -> Unknown:
    word = run_of(script, **given).words[1]
    assert isinstance(word, Unknown)
    return word


@pytest.mark.parametrize(
    ("script", "text", "variables"),
    [
        ("run $GPUS", "$GPUS", ("GPUS",)),
        ("run --n=${GPUS}", "--n=${GPUS}", ("GPUS",)),
        ("run $((GPUS * 2))", "$((GPUS * 2))", ("GPUS",)),
        ("run $(nvidia-smi -L | wc -l)", "$(nvidia-smi -L | wc -l)", ()),
        ("N=$(nproc)\nrun $N", "$N", ("N",)),
        ("N=`nproc`\nrun ${N:-8}", "${N:-8}", ("N",)),
        ("run $1", "$1", ("1",)),
        ('[ "$GPUS" -gt 4 ] && N=1\nrun $N', "$N", ("N",)),
        ("if command -v nvidia-smi; then N=1; else N=2; fi\nrun $N", "$N", ("N",)),
        ("N=1\nwhile true; do N=2; done\nrun $N", "$N", ("N",)),
    ],
)
def test_what_is_not_known_stays_as_written(script: str, text: str, variables: tuple[str, ...]) -> None:
    word = unknown_of(script)
    assert (word, word.variables) == (text, variables)


def test_what_is_only_quoted_is_known() -> None:
    assert not isinstance(run_of("run '$GPUS'").words[1], Unknown)


CHOICE = """
case "${MODEL}" in
  small) NODES=6; ARGS=(--colocate) ;;
  large) NODES=16 ;;
  *) echo "no such model"; exit 1 ;;
esac
run --nodes $NODES
"""


def test_a_condition_that_cannot_be_decided_takes_no_branch() -> None:
    script = read_script(CHOICE)
    assert unknown_of(CHOICE.replace("--nodes ", "")).variables == ("NODES",)
    undecided = script.undecided["NODES"]
    assert undecided.line == 2
    assert undecided.choices == ("6", "16")
    assert "${MODEL} is small" in undecided.source


@pytest.mark.parametrize("given", [{"environment": {"MODEL": "small"}}, {"fixed": {"MODEL": "small"}}])
def test_a_variable_of_the_caller_decides_it(given: Mapping[str, Mapping[str, str]]) -> None:
    assert run_of(CHOICE, **given).words == ("run", "--nodes", "6")


@pytest.mark.parametrize(
    "script",
    [
        "f() { if [ -f x ]; then N=1; return; fi; N=2; }\nf\nrun $N",
        "for i in 1 2 3; do [ -f $i ] && break; N=$i; done\nrun $N",
        "for i in 1 2 3; do if [ -f $i ]; then continue; fi; N=$i; done\nrun $N",
        "N=0\nfor i in $LIST; do N=$((N + 1)); done\nrun $N",
        "if [ -f x ]; then set -- 1; else set -- 2; fi\nrun $1",
        "N=$(if [ -f x ]; then echo 1; else echo 2; fi)\nrun $N",
        "f() { N=1; }\nif [ -f x ]; then f() { N=2; }; fi\nf\nrun $N",
        "A=(1)\nif [ -f x ]; then A+=(2); fi\nA+=(3)\nrun ${A[1]}",
        "N=(/data/*.json)\nrun $N",
        "[ -z ${HOSTNAME:-x} ] && N=1 || N=2\nrun $N",
        "N=4; A=(1 2); unset 'A[0]'\nrun ${A[0]}",
        # What no launch script has is not followed.
        "run {1..3}",
        "run a{b,c}",
        "declare -A S=([7b]=1)\nrun ${S[7b]}",
        "i=0\ndeclare -A S\nS[i]=3\nrun ${S[0]}",
        "f() { local -n r=$1; r=5; }; X=1; f X; run $X",
        "declare -i N=3+4; run $N",
        "N=X; X=1; run ${!N}",
        "X=abc; run ${X:0:2}",
        "X=abc; run ${X/#a/x}",
        "run $((1 ? 2 : 3))",
        "run $((1 << 3))",
        "run $((010))",
        "run $((2 ** 3))",
        "i=1; : $(( i << 2 )) $(( A[1] = i++ )); run $i",
        "run $'\\x41'",
        "case 7 in [[:digit:]]) N=1 ;; *) N=2 ;; esac; run $N",
        "N=1; [[ x == @(x|y) ]] && N=2; run $N",
    ],
)
def test_no_branch_is_taken_silently(script: str) -> None:
    assert isinstance(run_of(script).words[1], Unknown)


def test_the_script_overrides_the_environment_but_not_what_is_fixed() -> None:
    assert run_of("N=1\nrun $N", environment={"N": "2"}).words == ("run", "1")
    assert run_of("N=$(nproc)\nrun $N", fixed={"N": "2"}).words == ("run", "2")


def test_a_command_in_an_undecided_branch_says_so() -> None:
    script = "if [ $RANK -eq 0 ]; then\n  run a\nfi"
    assert run_of(script).conditions == ("[ $RANK -eq 0 ]",)
    assert run_of(script).line == 2
    assert run_of(script, environment={"RANK": "0"}).conditions == ()


def test_parameters_may_be_given() -> None:
    script = 'if [ $# -lt 1 ]; then echo usage; exit 1; fi\nrun "$1" "$@"'
    assert run_of(script, parameters=["a b", "c"]).words == ("run", "a b", "a b", "c")
    assert run_of(script).words == ("run", "$1", "$@")
    assert commands(script, parameters=[]) == [["echo", "usage"]]


def test_words_know_their_lines() -> None:
    script = "NODES=2\nA=(\n  --nodes $NODES\n)\nsource sizes.sh\nrun ${A[@]} $((GPUS * NODES)) ${X:-8}"
    words = run_of(script, load={"sizes.sh": "\nGPUS=8"}.get, fixed={"X": "9"}).words[1:]
    assert all(isinstance(word, Traced) for word in words)
    found = [(str(one), one.place, one.origins) for one in words if isinstance(one, Traced)]
    assert found == [
        ("--nodes", ScriptLine("", 3), ()),
        ("2", ScriptLine("", 3), (("NODES", ScriptLine("", 1)),)),
        ("16", ScriptLine("", 6), (("GPUS", ScriptLine("sizes.sh", 2)), ("NODES", ScriptLine("", 1)))),
        ("9", ScriptLine("", 6), (("X", ScriptLine("--set", 0)),)),
    ]


def test_a_condition_inside_a_command_substitution_knows_its_line() -> None:
    word = unknown_of("\nN=$(\n  if [ -f x ]; then echo 1; else echo 2; fi\n)\nrun $N")
    assert word.reason is not None
    assert (word.reason.line, word.reason.choices) == (3, ("1", "2"))


def test_of_an_array_only_the_part_that_depends_on_a_condition_is_unknown() -> None:
    script = 'A=(--lr 1)\nif [ "$DEBUG" = 1 ]; then A+=(--colocate); fi\nA+=(--bf16)\nrun ${A[@]}'
    words = run_of(script).words
    assert words == ("run", "--lr", "1", "${A[@]}", "--bf16")
    (unknown,) = [word for word in words if isinstance(word, Unknown)]
    assert unknown.reason is not None
    assert (unknown.reason.choices, unknown.reason.settle) == (("--colocate", "(nothing)"), ("DEBUG",))


def test_the_folder_of_the_script_is_known_with_its_path() -> None:
    script = 'D="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." &>/dev/null && pwd)"\nrun $D $(dirname "$0")'
    assert run_of(script, path="/jobs/scripts/run.sh").words == ("run", "/jobs", "/jobs/scripts")


def test_a_text_for_a_shell_is_followed() -> None:
    script = 'N=$(nproc)\nray job submit -- bash -c "cd /x && run --n $N --m 2"\n'
    assert run_of(script).words == ("run", "--n", "$N", "--m", "2")


def test_loops_over_arguments_that_nobody_gave_are_passed_over() -> None:
    script = 'N=2\nwhile [ $# -gt 0 ]; do N=$1; shift; done\nfor a in "$@"; do N=$a; done\nrun $N'
    assert run_of(script).words == ("run", "2")
    assert run_of(script, parameters=["4"]).words == ("run", "4")


def test_a_sourced_file_is_followed_where_it_is_found() -> None:
    files = {"models/4b.sh": "MODEL_ARGS=(--layers 36)"}
    script = "source models/4b.sh\n. models/none.sh\nrun ${MODEL_ARGS[@]}"
    assert run_of(script, load=files.get).words == ("run", "--layers", "36")
    assert run_of(script).words == ("run", "${MODEL_ARGS[@]}")


def test_a_file_that_the_script_writes_can_be_read() -> None:
    script = "SIZE=4\ncat > $DIR/groups.yaml <<-END\n\tnum_gpus: ${SIZE}\n\tEND\n"
    assert read_script(script, environment={"DIR": "/tmp"}).files == {"/tmp/groups.yaml": "num_gpus: 4\n"}


def test_assignments_before_a_command_are_its_environment() -> None:
    command = run_of("CUDA_VISIBLE_DEVICES=0,1 run a\n")
    assert command.environment == {"CUDA_VISIBLE_DEVICES": "0,1"}
    assert "CUDA_VISIBLE_DEVICES" not in read_script("CUDA_VISIBLE_DEVICES=0 run a").undecided
