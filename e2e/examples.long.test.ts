import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { keepLog } from '@baton/kernel/testing/leaks/leaks';
import { repository } from '@baton/testing/baton-process';

const limitMs = 180_000;

function runExample(name: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const args = [join(repository, 'bin', 'run.mjs'), join(repository, 'examples', name, 'run.ts')];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: repository, timeout: limitMs }, (error, stdout, stderr) => {
      keepLog(`${stdout}\n${stderr}`);
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

test('a change is made and reviewed by agents, escalated, approved by a person and released by a skill', async () => {
  const { code, stdout, stderr } = await runExample('change');
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  const expected = [
    /^build +The developer takes TASK-\d+ "Make: Invoices for companies" and returns \{"commit":"4f2a9c1"\}\.$/,
    /^review +The reviewer takes TASK-\d+ "Review: Invoices for companies" and returns \{"verdict":"good",/,
    /^approve +The approval of Petra is requested: "Release Invoices for companies\? The review says: good"/,
    /^approve +.*\(process\.sla_warning\)\.$/,
    /^approve +.*\(process\.sla_breached\)\.$/,
    /^approve +Escalation 1: Henrik is notified \(process\.escalated\)/,
    /^approve +Petra approves\./,
    /^release +The release service takes the call with \{"commit":"4f2a9c1"\} and returns 2026\.11\.1\.$/,
    /^end +CHG-1 is completed: released, version 2026\.11\.1\.$/,
  ];
  // Two workers may report the breach and the escalation in either order.
  const journal = [
    /^ +\S+Z +process\.started$/,
    /^ +\S+Z +process\.sla_warning +approve$/,
    /^ +\S+Z +process\.sla_breached +approve$/,
    /^ +\S+Z +process\.escalated +approve$/,
    /^ +\S+Z +process\.completed +released$/,
  ];
  const lines = stdout.split('\n');
  const places = expected.map((line) => lines.findIndex((printed) => line.test(printed)));
  for (const line of [...expected, ...journal])
    assert.ok(
      lines.some((printed) => line.test(printed)),
      `${line} is not in:\n${stdout}`,
    );
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
    stdout,
  );
});
