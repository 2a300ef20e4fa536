import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { repository } from '@baton/testing/baton-process';
import { byDepth } from '@baton/testing/depth';

const folder = mkdtempSync(join(tmpdir(), 'baton-foreground-'));
after(() => rmSync(folder, { recursive: true }));

/** Runs `node bin/run.mjs` on a TypeScript file with this source. */
function run(source: string, args: readonly string[] = []) {
  const file = join(folder, `${Math.random()}.ts`);
  writeFileSync(file, source);
  const child = spawn(process.execPath, [join(repository, 'bin', 'run.mjs'), file, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  return {
    child,
    output: text(child.stdout),
    /** Waits until standard error matches. */
    async complains(words: RegExp) {
      for (const deadline = performance.now() + 60_000; !words.test(complaints); await sleep(10))
        assert.ok(performance.now() < deadline, `${words} is not in: ${complaints}`);
    },
    ended: once(child, 'exit') as Promise<[number | null, string | null]>,
  };
}

/** Prints each signal at once, and all signals when its input ends. */
const countSignals = `
  const seen: string[] = [];
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(name, () => console.error(seen.push(name) + ' ' + name));
  process.stdin.resume().on('end', () => { console.log(seen.join()); process.exit(seen.length); });
  console.error('up');`;

test('arguments, streams and the exit code are passed on', async () => {
  const source = `
    process.stdin.on('data', (line: Buffer) => console.log(process.argv.slice(2).join('|'), String(line)));
    process.stdin.on('end', () => process.exit(7));`;
  const { child, output, ended } = run(source, ['a b', '--json', '']);
  child.stdin.end('in');
  assert.deepEqual(await ended, [7, null]);
  assert.equal(await output, 'a b|--json| in\n');
});

test('each signal reaches the program once, even when npm and the terminal both send it', async () => {
  const { child, output, complains, ended } = run(countSignals);
  await complains(/up/);
  for (const signal of ['SIGINT', 'SIGINT', 'SIGTERM', 'SIGTERM'] as const) {
    child.kill(signal);
    // A signal more than a second later counts as another Ctrl-C. On a busy machine a pause can take that long, so only
    // the long proof pauses.
    await sleep(byDepth(0, 50));
  }
  await complains(/2 SIGTERM/);
  // A duplicate signal would arrive within this time.
  await sleep(200);
  child.stdin.end();
  assert.deepEqual(await ended, [2, null]);
  assert.equal(await output, 'SIGINT,SIGTERM\n');
});

test('every SIGHUP reaches the program, because each may announce another change', async () => {
  const { child, output, complains, ended } = run(countSignals);
  await complains(/up/);
  for (const said of [/1 SIGHUP/, /2 SIGHUP/]) {
    child.kill('SIGHUP');
    await complains(said);
  }
  child.stdin.end();
  assert.deepEqual(await ended, [2, null]);
  assert.equal(await output, 'SIGHUP,SIGHUP\n');
});

test('if a signal kills the program, the wrapper ends with the same signal', async () => {
  const { ended } = run("process.kill(process.pid, 'SIGKILL'); setInterval(() => {}, 1000);");
  assert.deepEqual(await ended, [null, 'SIGKILL']);
});

test('a program without arguments prints its usage if it is given some', async () => {
  for (const [words, code] of [
    [['worker', '--help'], 0],
    [['start', '--port', '9000'], 2],
    [['env', 'bash'], 2],
  ] as const) {
    const child = spawn(process.execPath, [join(repository, 'bin', 'baton.mjs'), ...words]);
    const stderr = text(child.stderr);
    assert.deepEqual(await once(child, 'exit'), [code, null]);
    assert.match(await stderr, /^Usage: baton (worker|start|env), without further words; [^\n]*\n$/);
  }
});
