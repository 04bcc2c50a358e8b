// Small helpers for making and changing elements.

export function element(tag, className, ...content) {
  const e = document.createElement(tag);
  e.className = className;
  e.append(...content);
  return e;
}

// button returns a button that does action unless setEnabled has switched it off.
export function button(id, label, action) {
  const b = element('button', '', label);
  b.type = 'button';
  b.id = id;
  b.addEventListener('click', () => {
    if (b.getAttribute('aria-disabled') !== 'true') action();
  });
  return b;
}

// setEnabled does not use the disabled attribute: it would take the focus away from the button that was just pressed.
export function setEnabled(button, enabled) {
  button.setAttribute('aria-disabled', !enabled);
}

// setText leaves an unchanged text alone, so that a selection in it survives the refresh.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// copies makes a button copy the link that an anchor holds.
export function copies(button, link) {
  const label = button.textContent;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(link.href);
      button.textContent = 'Copied';
    } catch {
      // Without permission for the clipboard, the next best thing is to select the link.
      getSelection().selectAllChildren(link);
      button.textContent = 'Selected';
    }
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}
