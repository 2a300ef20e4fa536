import assert from 'node:assert/strict';
import { describe } from 'node:test';
import {
  address,
  all,
  click,
  fill,
  find,
  isThere,
  meId,
  open,
  press,
  see,
  settled,
  submit,
  test,
  until,
} from '../../testing/page.ts';

const { isSameView, readSavedViews, saveView } = await import('./saved-views.ts');
const key = `baton.views.${meId}`;
const keep = (views: unknown) =>
  localStorage.setItem(key, typeof views === 'string' ? views : JSON.stringify(views));
const tabs = () =>
  all('link', undefined, all('navigation', 'Saved views')[0] ?? document.createElement('nav')).map(
    (one) => one.textContent,
  );

describe('saved views', () => {
  test('are hidden without saved views and filters', async () => {
    await open('/');
    assert.deepEqual(tabs(), []);
    assert.ok(!isThere('button', 'Save view') && !isThere('button', 'Edit views'));
  });

  test('one is saved under a name without blanks, renamed and deleted', async () => {
    await open('/?priority=critical');
    await click('button', 'Save view');
    await fill('textbox', 'View name', '  Fires ');
    await submit('textbox', 'View name');
    await until(() => !isThere('dialog'));
    assert.deepEqual(tabs(), ['All', 'Fires']);
    await click('button', 'Edit views');
    await fill('textbox', 'New name for Fires', 'Burning');
    await submit('textbox', 'New name for Fires');
    await find('button', 'Rename Burning');
    assert.equal(localStorage.getItem(key), '[{"name":"Burning","search":{"priority":"critical"}}]');
    await click('button', 'Delete Burning');
    await click('button', 'Close');
    assert.deepEqual(tabs(), []);
  });

  test('open their filters, even from the palette', async () => {
    keep([{ name: 'Fires', search: { priority: 'critical', view: 'board' } }]);
    await open('/inbox');
    await press('Control+k');
    await click('option', 'View: Fires');
    await until(() => address() === '/?view=board&priority=critical');
    await settled();
    await click('link', 'All');
    assert.equal(address(), '/');
  });

  test('the name of another view is rejected', async () => {
    keep([
      { name: 'One', search: { q: 'one' } },
      { name: 'Two', search: { q: 'two' } },
    ]);
    await open('/');
    await click('button', 'Edit views');
    await fill('textbox', 'New name for One', 'Two');
    await submit('textbox', 'New name for One');
    await see('A view named “Two” already exists.');
    assert.equal(readSavedViews(meId)[0]?.name, 'One');
  });

  test('at most fifty are stored', async () => {
    keep(Array.from({ length: 50 }, (_, n) => ({ name: `View ${n}`, search: { q: `word${n}` } })));
    await open('/?priority=low');
    await click('button', 'Save view');
    await fill('textbox', 'View name', 'One too many');
    await submit('textbox', 'View name');
    await see('You can save at most 50 views. Delete one first.');
    assert.equal(readSavedViews(meId).length, 50);
  });

  test('invalid stored views are dropped', () => {
    keep('no JSON');
    assert.deepEqual(readSavedViews(meId), []);
    keep({ name: 'no list' });
    assert.deepEqual(readSavedViews(meId), []);
    keep([
      { name: 'x'.repeat(200), search: { q: 'long', priority: 'no such', view: 7 } },
      { name: 5, search: {} },
      null,
      { name: ' ', search: {} },
    ]);
    assert.deepEqual(readSavedViews(meId), [{ name: 'x'.repeat(60), search: { q: 'long' } }]);
  });

  test('belong to one person', () => {
    keep([{ name: 'Mine', search: {} }]);
    assert.deepEqual(readSavedViews('somebody else'), []);
    assert.deepEqual(readSavedViews(undefined), []);
    assert.equal(
      saveView(undefined, [], { name: 'x', search: {} }),
      'Your account is still loading. Try again.',
    );
  });

  test('one of the same name is replaced', () => {
    keep([{ name: 'One', search: { q: 'one' } }]);
    assert.equal(
      saveView(meId, readSavedViews(meId), { name: ' One ', search: { q: 'other', create: true } }),
      undefined,
    );
    assert.deepEqual(readSavedViews(meId), [{ name: 'One', search: { q: 'other' } }]);
  });

  test('two URLs are the same view regardless of the order of their parameters and of the form for a new task', () => {
    assert.ok(isSameView({ priority: 'low', q: 'a', create: true }, { q: 'a', priority: 'low' }));
    assert.ok(!isSameView({ q: 'a' }, { q: 'a', view: 'board' }));
  });
});
