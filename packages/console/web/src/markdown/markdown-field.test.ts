import assert from 'node:assert/strict';
import { describe } from 'node:test';
import {
  all,
  click,
  type FakeService,
  fill,
  find,
  isThere,
  itemOf,
  meWith,
  open,
  pageOf,
  press,
  see,
  submit,
  test,
  unseen,
} from '../testing/page.ts';
import { answersOf, graceId, taskWith } from '../testing/tasks.ts';

const label = 'Your comment';
const field = () => find<HTMLTextAreaElement>('textbox', label);
const options = () => all('option').map(({ textContent }) => textContent);

const people = [
  itemOf('principals.list', { id: graceId, displayName: 'Grace [Hopper]', kind: 'human', status: 'active' }),
  itemOf('principals.list', { displayName: 'Grab bot', kind: 'agent', status: 'active' }),
  itemOf('principals.list', { displayName: 'Gray', kind: 'human', status: 'disabled' }),
];

async function openTask(me: Partial<ReturnType<typeof meWith>> = {}): Promise<FakeService> {
  const task = taskWith();
  return open(`/tasks/${task.publicId}`, {
    me,
    answers: {
      ...answersOf(task),
      'principals.list': pageOf(...people),
      'tasks.createComment': itemOf('tasks.listComments', {}),
    },
  });
}

describe('a field for Markdown', () => {
  test('shows a preview of the text, which stays in the field', async () => {
    await openTask();
    await fill('textbox', label, 'A **bold** word');
    await click('button', 'Preview');
    await see('A bold word');
    const [panel] = document.querySelectorAll('[role="tabpanel"]:not([hidden])');
    assert.equal(panel?.querySelector('strong')?.textContent, 'bold');
    assert.equal(panel?.getAttribute('aria-labelledby'), document.querySelectorAll('[role="tab"]')[1]?.id);
    await click('button', 'Write');
    assert.equal((await field()).value, 'A **bold** word');
  });

  test('without a text has nothing to preview', async () => {
    await openTask();
    await click('button', 'Preview');
    await see('Nothing to preview.');
  });

  test('changes between its tabs by arrow keys, of which the Tab key reaches one', async () => {
    await openTask();
    const tabs = [...document.querySelectorAll<HTMLElement>('[role="tab"]')];
    const states = () => tabs.map((tab) => [tab.getAttribute('aria-selected'), tab.tabIndex]);
    tabs[0]?.focus();
    await press('ArrowRight');
    assert.deepEqual(states(), [
      ['false', -1],
      ['true', 0],
    ]);
    assert.equal(document.activeElement, tabs[1]);
    await press('Home');
    assert.deepEqual(states(), [
      ['true', 0],
      ['false', -1],
    ]);
    assert.equal(document.activeElement, tabs[0]);
  });

  test('sends nothing for blanks only', async () => {
    const service = await openTask();
    await fill('textbox', label, '  \n ');
    await submit('textbox', label);
    assert.equal(service.askedFor('tasks.createComment').length, 0);
  });
});

describe('the completion of mentions', () => {
  test('searches for the words after the @, and offers those who are not disabled', async () => {
    const service = await openTask();
    await fill('textbox', label, 'Hello @gra');
    await see('2 found.');
    assert.deepEqual(options(), ['Grace [Hopper] human', 'Grab bot agent']);
    const { query } = service.askedFor('principals.list').at(-1) ?? {};
    assert.deepEqual([query?.['q'], query?.['limit']], ['gra', '6']);
  });

  test('is controlled by the arrow keys, and Enter inserts the mention', async () => {
    const service = await openTask();
    await fill('textbox', label, 'Hello @gra');
    await see('2 found.');
    const area = await field();
    const chosen = () =>
      document.getElementById(area.getAttribute('aria-activedescendant') ?? '')?.textContent;
    assert.equal(chosen(), 'Grace [Hopper] human');
    await press('ArrowDown');
    assert.equal(chosen(), 'Grab bot agent');
    await press('ArrowDown', 'Enter');
    const text = `Hello @[Grace Hopper](${graceId}) `;
    assert.equal(area.value, text);
    assert.equal(area.selectionStart, text.length);
    assert.equal(area.getAttribute('aria-activedescendant'), null);
    await unseen('found.');
    await submit('textbox', label);
    assert.deepEqual(service.askedFor('tasks.createComment')[0]?.body, { body: text.trim() });
  });

  test('inserts what is clicked', async () => {
    await openTask();
    await fill('textbox', label, 'See @gra');
    await see('2 found.');
    all('option')[1]?.dispatchEvent(new MouseEvent('mousedown', { bubbles: true, cancelable: true }));
    await unseen('found.');
    assert.match((await field()).value, /^See @\[Grab bot\]\([\da-f-]{36}\) $/);
  });

  test('is closed by Escape, which does not close a dialog around it', async () => {
    await openTask();
    await press('e');
    const dialog = await find('dialog');
    await fill('textbox', 'Description', '@gra');
    await see('2 found.');
    await press('Escape');
    assert.deepEqual(
      all('option').filter((option) => option.closest('[role="listbox"]') !== null),
      [],
    );
    assert.ok(dialog.isConnected);
  });

  test('requests nothing without an @, and for a person who may not read names', async () => {
    const permissions = meWith().permissions.filter((name) => name !== 'principals.read');
    const service = await openTask({ permissions });
    await fill('textbox', label, 'a@b @');
    assert.equal(service.askedFor('principals.list').length, 0);
    assert.ok(!isThere('option'));
  });

  test('leaves a text that would become too long as it is', async () => {
    await openTask();
    const text = `${'x'.repeat(9_990)} @gra`;
    await fill('textbox', label, text);
    await see('2 found.');
    await press('Enter');
    assert.equal((await field()).value, text);
  });
});
