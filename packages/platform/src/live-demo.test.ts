import assert from 'node:assert/strict';
import { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { LiveDemo } from './live-demo.ts';

// The program that the console's demo runs as a child process: here a fake that prints the first lines of the real one,
// or nothing.

const folder = mkdtempSync(join(tmpdir(), 'baton-live-demo-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const minuteMs = 60_000;

function demoOf(line: string): LiveDemo {
  const program = join(folder, `demo-${line.length}.mjs`);
  writeFileSync(program, `console.error(${JSON.stringify(line)}); setInterval(() => {}, 1000);`);
  const options = { env: process.env, connectionFile: 'none', localUrl: 'http://127.0.0.1:1' };
  return new LiveDemo({ ...options, program, administratorId: () => undefined });
}

test('a demo that has started is not stopped while it waits for its visitor', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const kill = t.mock.method(ChildProcess.prototype, 'kill');
  const demo = demoOf('Watch it at http://127.0.0.1:1/');
  await demo.start();
  t.mock.timers.tick(30 * minuteMs);
  assert.equal(kill.mock.callCount(), 0);
  await demo.close();
  assert.equal(kill.mock.callCount(), 1);
});

test('a demo that does not start within a minute is stopped, and an error is returned', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const demo = demoOf('');
  let reason: unknown;
  const started = demo.start().catch((error: unknown) => {
    reason = error;
  });
  for (; reason === undefined; await turn()) t.mock.timers.tick(minuteMs);
  await started;
  assert.match(String(reason), /did not start within 60 s/);
  await demo.close();
});
