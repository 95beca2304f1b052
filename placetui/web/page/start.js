// Where the socket is: beside the page, whatever tunnel or proxy the page came through.
document.getElementById("terminal").dataset.sessionWebsocketUrl = location.origin.replace(/^http/, "ws") + "/ws";
document.getElementById("again").addEventListener("click", () => location.reload());
// Keys work as soon as the socket does, without a click.
new MutationObserver((_, watcher) => {
  if (document.body.classList.contains("-loaded")) {
    watcher.disconnect();
    document.querySelector(".xterm-helper-textarea").focus();
  }
}).observe(document.body, { attributes: true });
