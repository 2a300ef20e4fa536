import assert from 'node:assert/strict';
import { describe, type TestContext } from 'node:test';
import type { Artifact } from '@baton/sdk';
import {
  all,
  click,
  find,
  isThere,
  itemOf,
  notSeen,
  open,
  pageOf,
  Refusal,
  see,
  seen,
  settled,
  test,
  until,
} from '../testing/page.ts';
import { answersOf, taskWith } from '../testing/tasks.ts';

const evil = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>';
const esc = '\u001b';
/** Replaces the browser's blobs and downloads for one test. */
function fakeBrowser(t: TestContext) {
  const blobs = new Map<string, Blob>();
  const saved: { readonly name: string; readonly href: string }[] = [];
  t.mock.method(URL, 'createObjectURL', (blob: Blob) => {
    const url = `blob:http://baton.test/${blobs.size + 1}`;
    blobs.set(url, blob);
    return url;
  });
  t.mock.method(URL, 'revokeObjectURL', () => undefined);
  const { click: clickOn } = HTMLElement.prototype;
  t.mock.method(HTMLElement.prototype, 'click', function click(this: HTMLAnchorElement) {
    if (this.download) saved.push({ name: this.download, href: this.href });
    else clickOn.call(this);
  });
  return { blobs, saved };
}

/** Opens a task with one stored artifact, and then the artifact. */
async function openArtifact(other: Partial<Artifact>, content: string | Uint8Array<ArrayBuffer> | Refusal) {
  const task = taskWith();
  const artifact = itemOf('artifacts.list', {
    name: 'the result',
    type: 'report',
    uri: null,
    content: null,
    contentState: 'stored',
    mediaType: 'text/plain',
    sizeBytes: typeof content === 'string' ? content.length : 10,
    supersedesArtifactId: null,
    ...other,
  });
  const service = await open(`/tasks/${task.publicId}`, {
    answers: {
      ...answersOf(task),
      'artifacts.list': pageOf(artifact),
      'artifacts.getContent': () => (content instanceof Refusal ? content : new Response(content)),
    },
  });
  assert.equal(service.askedFor('artifacts.getContent').length, 0);
  (await find('summary', new RegExp(`^${artifact.name.slice(0, 10).replaceAll(/[<(]/g, '.')}`))).click();
  await settled();
  return { service, artifact };
}

const result = () => seen(all('region').find((one) => one.querySelector('h2')?.textContent === 'Result'));
const nothingRan = () => {
  assert.equal(document.querySelector('main script, main iframe, main object, main embed, main svg'), null);
  assert.equal((globalThis as { ran?: number }).ran, undefined);
};

describe('an artifact', () => {
  test('its content is loaded only when it is opened, because each read is recorded', async () => {
    const { service } = await openArtifact({}, 'first line\nsecond line');
    await see('first line\nsecond line');
    assert.equal(service.askedFor('artifacts.getContent').length, 1);
    assert.match(result(), /the result report · text\/plain · 22 bytes/);
  });

  for (const mediaType of [
    'text/html',
    'image/svg+xml',
    'text/plain',
    'text/markdown',
    'application/xhtml+xml',
  ])
    test(`hostile markup as ${mediaType} is shown as text`, async () => {
      const hostile = `<svg onload="window.ran=1">${evil}</svg>`;
      await openArtifact({ mediaType, name: `evil ${evil}` }, hostile);
      await see(hostile);
      assert.equal(document.querySelector('main img'), null);
      nothingRan();
    });

  test('a log has its colours, and no markup', async () => {
    await openArtifact({ mediaType: 'text/x-log' }, `ok\n${esc}[1;31mfailed ${evil}${esc}[0m\n`);
    await see(`failed ${evil}`);
    assert.deepEqual(document.querySelector('main pre .fg1')?.className, 'fg1 bold');
    assert.equal(document.querySelector('main img'), null);
    nothingRan();
  });

  test('a diff marks its lines', async () => {
    await openArtifact({ name: 'fix.patch' }, '--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same');
    const marked = [...document.querySelectorAll('main pre > span')].map((one) => [
      one.className.replace('line ', ''),
      one.textContent?.trim(),
    ]);
    assert.deepEqual(marked, [
      ['file', '--- a'],
      ['file', '+++ b'],
      ['hunk', '@@ -1 +1 @@'],
      ['removed', '-old'],
      ['added', '+new'],
      ['', 'same'],
    ]);
  });

  test('JSON is formatted, and invalid JSON shown as it is', async () => {
    await openArtifact({ mediaType: 'application/json' }, `{"a":[1,"${'<b>'}"]}`);
    await see('{\n"a": [\n1,\n"<b>"\n]\n}');
  });

  test('invalid JSON is shown as it is', async () => {
    await openArtifact({ mediaType: 'application/json' }, '{"a": ');
    await see('{"a":');
  });

  test('a table has its head, and shows more rows on demand', async () => {
    await openArtifact(
      { mediaType: 'text/csv' },
      `name,count\n${Array.from({ length: 150 }, (_, row) => `r${row} ${row === 0 ? evil : ''},${row}`).join('\n')}`,
    );
    assert.deepEqual(
      [...document.querySelectorAll('th')].map(({ textContent }) => textContent),
      ['name', 'count'],
    );
    assert.equal(document.querySelectorAll('tbody tr').length, 100);
    await click('button', 'Show more rows');
    assert.equal(document.querySelectorAll('tbody tr').length, 150);
    assert.ok(!isThere('button', 'Show more rows'));
    nothingRan();
  });

  test('a long text shows its first lines, and more on demand', async () => {
    await openArtifact({}, Array.from({ length: 1_200 }, (_, line) => `line ${line}.`).join('\n'));
    await see('line 499.');
    notSeen('line 500.');
    await see('500 of 1,200 lines are shown.');
    await click('button', 'Show more lines');
    await see('line 999.');
  });

  test('of a large one, only the first megabyte is loaded', async () => {
    const line = `${'x'.repeat(99)}\n`;
    await openArtifact({ sizeBytes: 3_000_000 }, line.repeat(30_000));
    await see('Only the first 1.0 MB of 3.0 MB are shown.');
    await see('500 of 10,000 lines are shown.');
  });

  test('of a long Markdown text, the beginning is shown, and a note', async () => {
    await openArtifact({ mediaType: 'text/markdown' }, `begin ${'word '.repeat(30_000)}the end`);
    await see('Only the first 100,000 characters are shown.');
    notSeen('the end');
  });

  test('an image is a blob of its raster type', async (t) => {
    const { blobs } = fakeBrowser(t);
    await openArtifact({ mediaType: 'image/png', name: `shot ${evil}` }, new Uint8Array([137, 80, 78, 71]));
    const image = await until(() => document.querySelector<HTMLImageElement>('main img'));
    assert.equal(image.getAttribute('alt'), `shot ${evil}`);
    assert.equal(blobs.get(image.src)?.type, 'image/png');
    image.dispatchEvent(new Event('error'));
    await see('The content is not a valid image.');
  });

  test('an image that is too large, and a file of another type, can only be downloaded', async () => {
    const { service } = await openArtifact({ mediaType: 'image/png', sizeBytes: 11_000_000 }, 'x');
    await see('Images of more than 10 MB are not shown here.');
    assert.equal(service.askedFor('artifacts.getContent').length, 0);
  });

  test('a file of another type is downloaded as bytes that no browser displays', async (t) => {
    const { blobs, saved } = fakeBrowser(t);
    const { service } = await openArtifact({ mediaType: 'application/pdf', name: '../a/b\\c.pdf' }, 'pdf');
    await see('Files of this type are not shown here.');
    assert.equal(service.askedFor('artifacts.getContent').length, 0);
    await click('button', 'Download');
    const [download] = saved;
    assert.equal(download?.name, '.._a_b_c.pdf');
    const blob = blobs.get(download?.href ?? '');
    assert.deepEqual([blob?.type, await blob?.text()], ['application/octet-stream', 'pdf']);
  });

  test('a content that can not be read is reported, and read again on demand', async () => {
    const { service } = await openArtifact(
      {},
      new Refusal(503, 'content_store_unavailable', 'The store is down.'),
    );
    await see('The store is down.\ncontent_store_unavailable · req_test');
    service.answer({ 'artifacts.getContent': () => new Response('back') });
    await click('button', 'Try again');
    await see('back');
  });

  test('a purged content is reported', async () => {
    await openArtifact({ contentState: 'purged' }, 'x');
    await see('The content was deleted.');
    assert.ok(!isThere('button', 'Download'));
  });

  test('an address on the web is a link with its host, any other is text', async () => {
    await openArtifact({ contentState: 'none', uri: 'https://files.example/a' }, 'x');
    assert.equal(
      (await find('link', 'Open on files.example')).getAttribute('href'),
      'https://files.example/a',
    );
  });

  test('an address that is no web page is text', async () => {
    await openArtifact({ contentState: 'none', uri: 'javascript:window.ran=1' }, 'x');
    await see('javascript:window.ran=1');
    assert.equal(document.querySelector('a[href^="javascript:"]'), null);
  });
});
