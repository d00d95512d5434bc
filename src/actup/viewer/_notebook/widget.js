// The anywidget of a page: shows it in a sandboxed frame, and sends its selection to Python.
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts allow-downloads"); // no access to the notebook
  frame.style.cssText = `width: 100%; height: ${model.get("height")}px; border: 0`;
  frame.srcdoc = model.get("html");
  const listen = (event) => {
    const ids = event.source === frame.contentWindow && event.data?.actupSelection;
    if (!(ids instanceof Uint32Array)) return;
    model.set("selected", new DataView(ids.buffer, ids.byteOffset, ids.byteLength));
    model.save_changes();
  };
  window.addEventListener("message", listen);
  el.appendChild(frame);
  return () => window.removeEventListener("message", listen);
}

export default { render };
