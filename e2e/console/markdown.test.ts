import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { assertAccessible, noBrowser, until, untilLoaded } from '../testing/browser.ts';
import { type RunningConsole, startConsole } from '../testing/console.ts';

// Markdown in a real browser, because the component tests have no security policy and no real keyboard.

describe('texts with Markdown', { skip: noBrowser }, () => {
  let world: RunningConsole;

  before(async () => {
    world = await startConsole();
  });
  afterEach(() => world?.closePages());
  after(() => world?.close());

  test('by keyboard alone a comment is written with a mention, previewed and sent; it notifies', async () => {
    const { baton } = world;
    const { id } = await world.participant('Grace Hopper', ['tasks.read']);
    const task = await baton.tasks.create({ title: 'Written about' });
    const { page, complaints } = await world.signedIn(`/tasks/${task.publicId}`);
    const field = page.getByLabel('Your comment', { exact: true });
    await field.focus();
    await page.keyboard.type('**Please** look, @gra');
    await page.getByRole('option', { name: 'Grace Hopper' }).waitFor();
    await assertAccessible(page, 'the completion of a mention', 'usual');
    await page.keyboard.press('Enter');
    await page.keyboard.type('at this:\n\n- [x] done\n- [ ] to do');
    const text = `**Please** look, @[Grace Hopper](${id}) at this:\n\n- [x] done\n- [ ] to do`;
    assert.equal(await field.inputValue(), text);
    // The field grows with its text.
    await until(
      page,
      "document.querySelector('textarea').scrollHeight <= document.querySelector('textarea').clientHeight + 2",
    );
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('ArrowRight');
    const preview = page.getByRole('tabpanel', { name: 'Preview' });
    await preview.getByText('@Grace Hopper').waitFor();
    await assertAccessible(page, 'the preview of a comment', 'usual');
    await page.keyboard.press('ArrowLeft');
    await page.getByRole('button', { name: 'Comment', exact: true }).focus();
    await page.keyboard.press('Enter');
    const activity = page.getByRole('region', { name: 'Activity' });
    await activity.locator('li strong').getByText('Please').waitFor();
    assert.equal(await field.inputValue(), '');
    assert.deepEqual(
      await page.evaluate(`[...document.querySelectorAll('main input[type=checkbox]')]
        .map(({ checked, disabled }) => [checked, disabled])`),
      [
        [true, true],
        [false, true],
      ],
    );
    const { items } = await baton.tasks.listComments(task.id);
    assert.deepEqual(
      items.map(({ body }) => body),
      [text],
    );
    const { items: events } = await baton.events.list({ entityId: task.id, types: 'task.mentioned' });
    assert.deepEqual(
      events.map(({ payload }) => payload['principalIds']),
      [[id]],
    );
    assert.deepEqual(complaints, []);
  });

  test('Escape closes the completion first, and then the dialog', async () => {
    await world.participant('Grace Hopper', ['tasks.read']);
    const { page } = await world.signedIn();
    await page.goto(`${world.url}/?create=true`);
    const field = page.getByRole('dialog').getByLabel('Description', { exact: true });
    await field.fill('For ');
    await field.press('End');
    await page.keyboard.type('@gra');
    await page.getByRole('option', { name: 'Grace Hopper' }).first().waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('listbox').waitFor({ state: 'hidden' });
    assert.equal(await field.inputValue(), 'For @gra');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  });

  test('images and scripts request nothing from elsewhere, and a link to a task opens it', async () => {
    const { baton } = world;
    const other = await baton.tasks.create({ title: 'The other task' });
    const description = [
      '![pixel](https://tracker.example/pixel.png) <img src="https://tracker.example/x.png">',
      '<script>window.__xss = 1</script> [click](javascript:window.__xss=1)',
      '[bank.example](https://evil.example/)',
      `See ${other.publicId}.`,
    ].join('\n\n');
    const task = await baton.tasks.create({ title: 'With links', description });
    const { page, complaints } = await world.signedIn('/');
    const elsewhere: string[] = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(world.url)) elsewhere.push(request.url());
    });
    await page.goto(`${world.url}/tasks/${task.publicId}`);
    await page.getByText('(evil.example)').waitFor();
    await untilLoaded(page);
    const links = await page.evaluate(`[...document.querySelectorAll('section[aria-labelledby=what] a')]
      .map((link) => [link.getAttribute('href'), link.rel, link.target])`);
    const outside = ['noopener noreferrer nofollow', '_blank'];
    assert.deepEqual(links, [
      ['https://tracker.example/pixel.png', ...outside],
      ['https://tracker.example/x.png', ...outside],
      ['https://evil.example/', ...outside],
      [`/tasks/${other.publicId}`, '', ''],
    ]);
    assert.equal(await page.evaluate('window.__xss'), undefined);
    await page
      .getByRole('region', { name: 'Description' })
      .getByRole('link', { name: other.publicId })
      .click();
    await page.getByRole('heading', { name: 'The other task' }).waitFor();
    assert.deepEqual(elsewhere, []);
    assert.deepEqual(complaints, []);
  });
});
