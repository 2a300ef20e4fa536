// Reads the document as a person does: its visible text, and elements by role and accessible name.

const blocks =
  /^(P|DIV|LI|UL|OL|DL|DT|DD|H[1-6]|SECTION|ARTICLE|HEADER|NAV|MAIN|ASIDE|FORM|LABEL|OPTION|SELECT|DETAILS|SUMMARY|FIELDSET|LEGEND|PRE|BUTTON|G)$/i;

/** Returns the visible text, one line per block. It omits hidden and collapsed content. */
export function textIn(element: Element): string {
  return rawTextIn(element)
    .split('\n')
    .map((line) => line.replaceAll(/\s+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n');
}

function rawTextIn(node: Node): string {
  if (node.nodeType === 3) return node.textContent ?? '';
  if (node.nodeType !== 1) return '';
  const element = node as Element;
  if (/^(STYLE|SCRIPT)$/i.test(element.tagName) || element.hasAttribute('hidden')) return '';
  const isFolded = element.tagName === 'DETAILS' && !element.hasAttribute('open');
  const children = [...element.childNodes].filter(
    (child) => !isFolded || (child as Element).tagName === 'SUMMARY',
  );
  const text = children.map(rawTextIn).join('');
  return blocks.test(element.tagName) ? `\n${text}\n` : text;
}

const roles = {
  button: 'button, [role="button"]',
  link: 'a[href]',
  heading: 'h1, h2, h3',
  textbox: 'input:not([type]), input[type="text"], input[type="search"], input[type="password"], textarea',
  combobox: 'select',
  checkbox: 'input[type="checkbox"]',
  option: 'option, [role="option"]',
  menuitem: '[role="menuitem"]',
  dialog: '[role="dialog"]',
  alertdialog: '[role="alertdialog"]',
  alert: '[role="alert"]',
  status: '[role="status"]',
  navigation: 'nav',
  region: 'section, [role="region"]',
  group: '[role="group"], fieldset',
  listitem: 'li',
  article: 'article',
  summary: 'summary',
};
export type Role = keyof typeof roles;

/** Returns the accessible name of an element. */
export function nameOf(element: Element): string {
  const byLabel = element.getAttribute('aria-label');
  if (byLabel !== null) return byLabel;
  const ids = element.getAttribute('aria-labelledby')?.split(' ') ?? [];
  if (ids.length > 0)
    return ids
      .map((id) => document.getElementById(id)?.textContent ?? '')
      .join(' ')
      .trim();
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName))
    return labelOf(element) || (element.getAttribute('placeholder') ?? '');
  return textIn(element).replaceAll('\n', ' ');
}

function labelOf(field: Element): string {
  const label =
    field.closest('label') ?? (field.id ? document.querySelector(`label[for="${field.id}"]`) : null);
  if (label === null) return '';
  const copy = label.cloneNode(true) as Element;
  for (const inner of copy.querySelectorAll('select, textarea, input')) inner.remove();
  return textIn(copy).replaceAll('\n', ' ');
}

/** Returns the part of the document that a person can reach: with an open dialog, only the dialog. */
function reach(): Element {
  return (
    [...document.querySelectorAll(`${roles.dialog}, ${roles.alertdialog}`)].at(-1)?.parentElement ??
    document.body
  );
}

/** Returns the elements of a role whose name equals a text or matches a pattern. */
export function all(role: Role, name?: string | RegExp, within: Element = reach()): HTMLElement[] {
  return [...within.querySelectorAll<HTMLElement>(roles[role])].filter((element) => {
    if (element.closest('[hidden]') !== null) return false;
    if (name === undefined) return true;
    return typeof name === 'string' ? nameOf(element) === name : name.test(nameOf(element));
  });
}
