import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { mock, test } from 'node:test';
import { byDepth } from '@baton/testing/depth';
import { runTests } from './test-run.ts';

const limits = { filesAtOnce: 2, filesAtOnceMeasuring: 1, testTimeoutMs: 60_000, groupTimeoutMs: 60_000 };

/** Runs test files with these contents; `printed` is the output for people. */
async function runTexts(
  texts: readonly string[],
  {
    groupTimeoutMs = limits.groupTimeoutMs,
    nameOf = (index: number) => `file${index}.test.mjs`,
    areTogether = false,
  }: { groupTimeoutMs?: number; nameOf?: (index: number) => string; areTogether?: boolean } = {},
) {
  const root = await mkdtemp(join(tmpdir(), 'baton-runner-'));
  const log = mock.method(console, 'log', () => undefined);
  try {
    const files = texts.map((_, index) => nameOf(index));
    for (const [index, text] of texts.entries()) {
      await mkdir(dirname(join(root, nameOf(index))), { recursive: true });
      await writeFile(join(root, nameOf(index)), `import { describe, test } from 'node:test';\n${text}`);
    }
    const signal = new AbortController().signal;
    const groups = areTogether ? [files] : files.map((file) => [file]);
    const { seconds, failures, tests, ...totals } = await runTests(root, groups, signal, {
      ...limits,
      groupTimeoutMs,
    });
    assert.deepEqual([...seconds.keys()].sort(), files.toSorted());
    assert.equal(failures.length, totals.failed);
    assert.equal(tests.filter(({ result }) => result === 'passed').length, totals.passed);
    return { totals, failures, printed: log.mock.calls.map((call) => String(call.arguments)).join('\n') };
  } finally {
    log.mock.restore();
    await rm(root, { recursive: true });
  }
}

test('counts tests but not the suites around them, over all files', async () => {
  const { totals } = await runTexts([
    "test('a', () => {}); describe('s', () => { test('b', () => {}); });",
    "test('c', async (t) => { await t.test('d', () => {}); });",
  ]);
  assert.deepEqual(totals, { passed: 4, failed: 0, skipped: [] });
});

test("a failing test is printed with its suite, its reason and its file's output", async () => {
  const { totals, printed, failures } = await runTexts([
    "describe('tenants', () => { test('are kept', () => { console.log('a hint'); throw new Error('one is lost'); }); });",
  ]);
  assert.deepEqual(totals, { passed: 0, failed: 1, skipped: [] });
  for (const part of ['tenants > are kept', 'one is lost', 'a hint']) assert.ok(printed.includes(part), part);
  assert.match(failures.join('\n'), /^file0\.test\.mjs: tenants > are kept\n.*one is lost/);
});

test('the last ten lines of a failing test are the expected value, the response, and the log of that request', async () => {
  const recentLog = new URL('../packages/testing/src/recent-log.ts', import.meta.url).href;
  const token = `iam_pat_aaaaaaaaaaaa_${'x'.repeat(43)}`;
  const { printed } = await runTexts([
    `import assert from 'node:assert/strict';
     import { createServer } from 'node:http';
     import { noteLog } from '${recentLog}';
     test('is admitted', async () => {
       const server = createServer((request, response) => {
         for (let n = 0; n < 20; n += 1) noteLog('{"requestId":"req_7","line":' + n + '}');
         noteLog('{"requestId":"req_8"}');
         response.writeHead(403, { 'x-request-id': 'req_7' }).end('{"code":"denied","token":"${token}"}');
       });
       await new Promise((done) => server.listen(0, '127.0.0.1', done));
       const answer = await fetch('http://127.0.0.1:' + server.address().port + '/tasks');
       await answer.text();
       server.close();
       assert.equal(answer.status, 200);
     });`,
  ]);
  const lines = printed.trimEnd().split('\n').slice(-10);
  assert.deepEqual(
    lines.map((line) => line.trim()),
    [
      'expected: 200; got: 403',
      'last answer: GET /tasks → 403, request req_7',
      'its body: {"code":"denied","token":"…"}',
      ...[13, 14, 15, 16, 17, 18, 19].map((n) => `logged: {"requestId":"req_7","line":${n}}`),
    ],
  );
  assert.ok(!printed.includes(token), 'no secret is printed');
});

test('skipped and unfinished tests are listed', async () => {
  // These tests are skipped on purpose: they are the content of a file that is used to test the run.
  const { totals } = await runTexts([
    "test('later', { skip: true }, () => {}); test('soon', { todo: true });",
  ]);
  assert.deepEqual(totals.skipped, ['file0.test.mjs: later', 'file0.test.mjs: soon']);
});

test('a file that crashes, contains no test or never ends is a failure', async () => {
  const { totals } = await runTexts(
    ["throw new Error('early');", '', "test('a', () => {}); setInterval(() => {}, 1000);"],
    { groupTimeoutMs: byDepth(10_000, 1500) },
  );
  assert.deepEqual(totals, { passed: 1, failed: 3, skipped: [] });
});

test('an error after the tests is printed, because it fails the file', async () => {
  const { totals, printed } = await runTexts([
    "test('a', () => { setTimeout(() => { throw new Error('of a connection'); }, 50); });",
    "test('b', () => { setTimeout(() => Promise.reject(new Error('of a request')), 50); });",
  ]);
  assert.deepEqual(totals, { passed: 2, failed: 2, skipped: [] });
  assert.match(printed, /What file0\.test\.mjs printed:\n.*Error: of a connection/);
  assert.match(printed, /What file1\.test\.mjs printed:\n.*Error: of a request/);
});

test('a leftover process of a test is not awaited', async () => {
  const { totals } = await runTexts([
    "import { spawn } from 'node:child_process'; test('a', () => { spawn('sleep', ['30'], { stdio: 'inherit', detached: true }).unref(); });",
  ]);
  assert.deepEqual(totals, { passed: 1, failed: 0, skipped: [] });
});

test('files that measure run first, and fewer at once', async () => {
  const slowly = "test('a', () => new Promise((done) => setTimeout(done, 300)));";
  const { printed } = await runTexts([slowly, slowly, slowly], {
    nameOf: (index) => (index === 0 ? 'usual.test.mjs' : `${index}/liveness.test.mjs`),
  });
  const ended = [...printed.matchAll(/✔ (\S+)/g)].map(([, file]) => file);
  assert.deepEqual(ended, ['1/liveness.test.mjs', '2/liveness.test.mjs', 'usual.test.mjs']);
});

test('files of a group run one after another in one process, each with its own hooks', async () => {
  const hooks = (name: string) =>
    `const { after, before } = await import('node:test');
     globalThis.order ??= [];
     before(() => globalThis.order.push('${name} begins'));
     after(() => globalThis.order.push('${name} ends'));`;
  const { totals } = await runTexts(
    [
      // Test c is skipped on purpose, because the run must list its name. It is the content of a file that is used to
      // test the run.
      `${hooks('one')} test('a', () => {}); describe('s', () => { test('b', () => {}); });`,
      `${hooks('two')} test('c', { skip: true }, () => {});
       test('d', () => { if (globalThis.order.join() !== 'one begins,one ends,two begins') throw new Error(globalThis.order.join()); });`,
    ],
    { areTogether: true },
  );
  assert.deepEqual(totals, { passed: 3, failed: 0, skipped: ['file1.test.mjs: c'] });
});

test('the failed file of a group is reported: for its test, its hook, its syntax or missing tests', async () => {
  const { failures, totals } = await runTexts(
    [
      "test('a', () => { throw new Error('of a'); });",
      "const { after } = await import('node:test'); after(() => { throw new Error('of a hook'); }); test('b', () => {});",
      "throw new Error('early');",
      '',
      "test('last', () => {});",
    ],
    { areTogether: true },
  );
  assert.equal(totals.passed, 2);
  const firstLines = failures.map((failure) => failure.split('\n').slice(0, 2).join(' '));
  for (const [index, form] of [
    /^file0\.test\.mjs: a .*of a/,
    /^file1\.test\.mjs: the file itself .*of a hook/,
    /^file2\.test\.mjs: the file itself .*early/,
    /^file3\.test\.mjs: it holds no test/,
  ].entries())
    assert.match(firstLines[index] ?? '', form);
});

test("if a group's process ends, the running file is reported, and those that did not run", async () => {
  const { failures, totals } = await runTexts(
    [
      "test('a', () => { throw new Error('of a'); });",
      "test('b', () => {}); test('c', () => new Promise(() => setTimeout(() => process.exit(3), 300)));",
      "test('c', () => {});",
    ],
    { areTogether: true },
  );
  assert.equal(totals.passed, 1);
  assert.match(failures[0] ?? '', /of a/);
  assert.deepEqual(failures.slice(1), [
    'file1.test.mjs: it ended with code 3, in one process with file0.test.mjs, file2.test.mjs',
    'file2.test.mjs: it holds no test, or none ran',
  ]);
});
