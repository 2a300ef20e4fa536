import assert from 'node:assert/strict';
import { describe, test as nodeTest } from 'node:test';
import '../testing/dom.ts';
import { keepFocus } from './keep-focus.ts';

/** Not hooks: if a process runs several files, hooks run only for the first. */
function test(name: string, act: () => Promise<void>): void {
  void nodeTest(name, async () => {
    const stop = keepFocus();
    try {
      await act();
    } finally {
      stop();
      document.body.replaceChildren();
    }
  });
}

function show(html: string): void {
  document.body.innerHTML = html;
}
const one = (selector: string) => document.querySelector<HTMLElement>(selector) as HTMLElement;
/** Waits for the observer and the check that follows it. */
const rest = () => new Promise((resolve) => setTimeout(resolve, 20));
const focused = () => document.activeElement?.id;

const page = (inner: string) => `<main id="main" tabindex="0"><div class="page">${inner}</div></main>`;
const line = (name: string) => `<li id="${name}"><button id="b-${name}">Revoke</button></li>`;
const list = page(
  `<h1 id="h1">Tokens</h1><section><h2 id="h2">Yours</h2><ul>${['a', 'b', 'c'].map(line).join('')}</ul></section>`,
);

describe('the focus', () => {
  test('moves from a removed line to the next one, and from the last one to the line before it', async () => {
    show(list);
    one('#b-b').focus();
    one('#b').remove();
    await rest();
    assert.equal(focused(), 'c');
    assert.equal(one('#c').tabIndex, -1);
    one('#b-c').focus();
    one('#c').remove();
    await rest();
    assert.equal(focused(), 'a');
  });

  test('moves from the removed list to the heading of its section, and from the section to that of the page', async () => {
    show(list);
    one('#b-a').focus();
    one('ul').remove();
    await rest();
    assert.equal(focused(), 'h2');
    one('section').remove();
    await rest();
    assert.equal(focused(), 'h1');
  });

  test('moves from a removed control to its replacement', async () => {
    show(page('<div><button>Rotate</button><form><button id="cancel">Cancel</button></form></div>'));
    one('#cancel').focus();
    const form = one('form');
    form.insertAdjacentHTML('afterend', '<button id="revoke">Revoke …</button>');
    form.remove();
    await rest();
    assert.equal(focused(), 'revoke');
  });

  test('moves back to a control that was disabled meanwhile', async () => {
    show(page('<button id="send">Send</button><button id="other">Other</button>'));
    const send = one('#send') as HTMLButtonElement;
    send.focus();
    send.disabled = true;
    send.blur();
    await rest();
    send.disabled = false;
    await rest();
    assert.equal(focused(), 'send');
  });

  test('moves from a folded control to the summary that unfolds it', async () => {
    show(
      page('<details open><summary id="fold">New token</summary><button id="make">Create</button></details>'),
    );
    one('#make').focus();
    (one('details') as HTMLDetailsElement).open = false;
    await rest();
    assert.equal(focused(), 'fold');
  });

  test('stays where the person or a dialog has moved it', async () => {
    show(`${list}<div role="dialog"><button id="ok">OK</button></div>`);
    one('#b-a').focus();
    one('#a').remove();
    one('#ok').focus();
    await rest();
    assert.equal(focused(), 'ok');
  });

  test('is not moved behind an open dialog', async () => {
    show(`${list}<div role="dialog"><p>Later</p></div>`);
    one('#b-a').focus();
    one('#a').remove();
    await rest();
    assert.equal(document.activeElement, document.body);
  });

  test('moves from a closed notice to the heading of the page, and is left to a dialog that closes', async () => {
    show(`<div>${list}<div><button id="close">Close</button></div></div>`);
    one('#close').focus();
    one('#close').remove();
    await rest();
    assert.equal(focused(), 'h1');
    document.body.insertAdjacentHTML('beforeend', '<div role="dialog"><button id="ok">OK</button></div>');
    one('#ok').focus();
    one('[role="dialog"]').remove();
    await rest();
    assert.equal(document.activeElement, document.body);
  });

  test('moves from a line that was scrolled out of a list to the box that is scrolled', async () => {
    show(page(`<div id="frame" role="region" tabindex="0"><ul>${line('a')}${line('b')}</ul></div>`));
    one('#b-a').focus();
    one('#a').remove();
    await rest();
    assert.equal(focused(), 'frame');
  });

  test('moves back to the control that a dialog has interrupted, or behind it', async () => {
    for (const [act, expected] of [
      [(button: HTMLElement) => button.removeAttribute('disabled'), 'b-a'],
      [() => one('#a').remove(), 'b'],
    ] as const) {
      show(list);
      const button = one('#b-a');
      button.focus();
      button.setAttribute('disabled', '');
      await rest();
      document.body.insertAdjacentHTML(
        'beforeend',
        '<div role="alertdialog"><button id="ok">OK</button></div>',
      );
      one('#ok').focus();
      await rest();
      one('[role="alertdialog"]').remove();
      await rest();
      act(button);
      await rest();
      assert.equal(focused(), expected);
    }
  });

  test('is not moved after a person has left the control', async () => {
    show(list);
    one('#b-a').focus();
    one('#b-a').blur();
    await rest();
    one('#a').remove();
    await rest();
    assert.equal(document.activeElement, document.body);
    one('#b-b').focus();
    one('h1').dispatchEvent(new Event('pointerdown', { bubbles: true }));
    one('#b').remove();
    await rest();
    assert.equal(document.activeElement, document.body);
  });

  test('moves to the heading of the next page, or to the page itself while that has none', async () => {
    show(list);
    one('#b-a').focus();
    one('main').innerHTML = '<div class="page"><h1 id="next">Next</h1></div>';
    await rest();
    assert.equal(focused(), 'next');
    one('main').innerHTML = '<div class="page"></div>';
    await rest();
    assert.equal(focused(), 'main');
  });
});
