/** The former position of an element: the box that contained it, and the node before it in that box. */
interface Place {
  readonly box: Node;
  readonly after: Node | null;
}

/** The focused element, which may have been disabled or removed since. */
interface Held {
  readonly element: HTMLElement;
  place: Place | undefined;
  wasDisabled: boolean;
}

const controls =
  'a[href], button:not([disabled]), input:not([disabled]):not([type="hidden"]), select:not([disabled]), textarea:not([disabled]), summary, [tabindex="0"]';
const lists = 'ul, ol';
const lines = 'li';
/** Another control within one of these may be unrelated to the removed one. */
const regions = 'main, section, article, nav, .page, [role="dialog"], [role="alertdialog"]';
const dialogs = '[role="dialog"], [role="alertdialog"]';
/** When these close, they return the focus to the element that had it before. */
const popups = `${dialogs}, [role="menu"]`;
/** A scrollable box. Its list may contain only the visible lines, so scrolling may remove a line. */
const frames = '[role="region"][tabindex="0"]';

/**
 * Moves the focus when the focused control disables or removes itself. Otherwise the browser discards it, and people
 * who use a keyboard or a screen reader have to start again at the top of the document. The focus moves
 * - back to a control that was disabled while its request was pending,
 * - from a control in a section that was folded to the summary that unfolds it,
 * - from a removed line of a list to the next line, or to the last one. The line itself gets the focus rather than a
 *   control in it, because a second press of the key must not act on another object. In a scrollable box, the box
 *   gets it,
 * - from another removed control to its replacement or neighbour, otherwise to the heading of its section or page.
 * @returns a function that stops this behaviour
 */
export function keepFocus(): () => void {
  let held: Held | undefined;
  /** The element that had the focus before a dialog or menu opened. */
  let outside: Held | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function hold(target: EventTarget | null): void {
    const element = target instanceof HTMLElement && target !== document.body ? target : undefined;
    if (element !== undefined && element.closest(popups) === null) outside = undefined;
    else if (element !== undefined && held?.element.closest(popups) === null) outside = held;
    held = element && { element, place: undefined, wasDisabled: false };
  }
  const onFocusIn = ({ target }: Event) => hold(target);
  // A click outside the focused control moves the focus deliberately.
  const onPointerDown = ({ target }: Event) => {
    if (held !== undefined && !(target instanceof Node && held.element.contains(target))) hold(null);
  };
  // Deferred, because a closing dialog moves the focus itself.
  const later = () => {
    timer ??= setTimeout(check, 0);
  };

  function check(): void {
    timer = undefined;
    const now = document.activeElement;
    if (now instanceof HTMLElement && now !== document.body && canHaveFocus(now)) {
      if (now !== held?.element) hold(now);
      return;
    }
    // A dialog can't return the focus to a control that is disabled or was removed.
    if (held === undefined || hasClosed(held))
      held = document.querySelector(popups) === null ? outside : undefined;
    if (held === undefined) return;
    const { element, place, wasDisabled } = held;
    if (!element.isConnected) return moveTo(successorOf(place));
    held.place = undefined;
    const folded = element.closest('details:not([open])');
    if (folded !== null && !isVisible(element)) return moveTo(folded.querySelector('summary') ?? undefined);
    if (isDisabled(element)) held.wasDisabled = true;
    else if (wasDisabled) element.focus();
    // The person has moved the focus away.
    else hold(null);
  }

  function moveTo(target: HTMLElement | undefined): void {
    hold(null);
    outside = undefined;
    if (target === undefined) return;
    if (!target.matches(controls)) {
      target.tabIndex = -1;
      target.addEventListener('blur', () => target.removeAttribute('tabindex'), { once: true });
    }
    target.focus({ preventScroll: target.matches(`main, ${frames}`) });
  }

  const observer = new MutationObserver((records) => {
    for (const one of [held, outside])
      if (one !== undefined) for (const record of records) followRemoval(one, record);
    if (held !== undefined || outside !== undefined) later();
  });
  observer.observe(document.body, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ['disabled', 'open'],
  });
  document.addEventListener('focusin', onFocusIn);
  document.addEventListener('focusout', later);
  document.addEventListener('pointerdown', onPointerDown, { capture: true });
  return () => {
    observer.disconnect();
    clearTimeout(timer);
    document.removeEventListener('focusin', onFocusIn);
    document.removeEventListener('focusout', later);
    document.removeEventListener('pointerdown', onPointerDown, { capture: true });
  };
}

/** Updates the place of an element that was removed, alone or with its container. */
function followRemoval(
  held: Held,
  { removedNodes, target: box, previousSibling: after }: MutationRecord,
): void {
  for (const node of removedNodes) {
    const { element, place } = held;
    if (node.contains(element) || (place !== undefined && node.contains(place.box)))
      held.place = { box, after };
    else if (place?.after === node) held.place = { box: place.box, after };
  }
}

const hasClosed = ({ element }: Held): boolean => element.closest(popups)?.isConnected === false;

function successorOf(place: Place | undefined): HTMLElement | undefined {
  const target = place === undefined ? undefined : nearest(place);
  const main = document.querySelector('main');
  const found = target ?? (main === null ? undefined : (headingOf(main) ?? main));
  const dialog = [...document.querySelectorAll(dialogs)].at(-1);
  // The focus stays within an open dialog.
  return dialog === undefined || (found !== undefined && dialog.contains(found)) ? found : undefined;
}

function nearest(place: Place): HTMLElement | undefined {
  let { box, after }: { box: Node | null; after: Node | null } = place;
  while (box instanceof HTMLElement && box !== document.body) {
    const found = box.isConnected ? nearestIn(box, after) : undefined;
    if (found !== undefined) return found;
    after = box;
    box = box.parentElement;
  }
  return undefined;
}

function nearestIn(box: HTMLElement, after: Node | null): HTMLElement | undefined {
  const frame = box.closest<HTMLElement>(frames);
  if (frame !== null) return frame;
  // Outside the page, for example after a notice is closed, every other control is unrelated.
  if (box.querySelector('main') !== null) return undefined;
  if (box.matches(lists)) return follower(box.querySelectorAll<HTMLElement>(`:scope > ${lines}`), after);
  if (box.matches(regions)) return headingOf(box);
  return follower(box.querySelectorAll<HTMLElement>(controls), after);
}

/** The first visible element after a node, otherwise the last one before it. */
function follower(elements: Iterable<HTMLElement>, after: Node | null): HTMLElement | undefined {
  const visible = [...elements].filter(isVisible);
  const isBehind = (one: HTMLElement) =>
    after?.isConnected !== true ||
    ((after.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0 && !after.contains(one));
  return visible.find(isBehind) ?? visible.at(-1);
}

function headingOf(box: HTMLElement): HTMLElement | undefined {
  return [...box.querySelectorAll<HTMLElement>('h1, h2, h3')].find(isVisible);
}

function isVisible(element: HTMLElement): boolean {
  return element.closest('[hidden], [inert], details:not([open]) > :not(summary)') === null;
}

function canHaveFocus(element: HTMLElement): boolean {
  return element.isConnected && !isDisabled(element) && isVisible(element);
}

function isDisabled(element: HTMLElement): boolean {
  return element.hasAttribute('disabled') || element.closest('fieldset[disabled]') !== null;
}
