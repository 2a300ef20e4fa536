import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { keepLog } from '@baton/kernel/testing/leaks';

const program = join(import.meta.dirname, '../bin/baton.mjs');
const limitMs = 180_000;

interface Report {
  holds: boolean;
  issues: { open: number; done: number; deleted: number };
  claims: number;
  exchanges: number;
  killed: number;
  stalledRefused: Record<string, number>;
  stalledAccepted: number;
  approved: number;
  budgetsRefused: number;
  proof: { statement: string; holds: boolean; violations: string[] }[];
}

let emptyHome: string;
before(() => {
  emptyHome = mkdtempSync(join(tmpdir(), 'baton-e2e-'));
});
after(() => rmSync(emptyHome, { recursive: true }));

/** Runs the demo with an empty home, so that it starts a Baton of its own. */
function runDemo(...words: string[]): Promise<{ code: number; report: Report; stderr: string }> {
  const env = { ...process.env, BATON_HOME: emptyHome, IAM_DATABASE_URL: '', CP_DATABASE_URL: '' };
  const args = [program, 'demo', '--json', ...words];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env, timeout: limitMs }, (error, stdout, stderr) => {
      const code = error === null ? 0 : Number(error.code);
      assert.notEqual(stdout, '', stderr);
      keepLog(`${stdout}\n${stderr}`);
      resolve({ code, report: JSON.parse(stdout) as Report, stderr });
    });
  });
}

function assertProven({ code, report }: { code: number; report: Report }): void {
  assert.deepEqual(
    report.proof.flatMap(({ violations }) => violations),
    [],
  );
  assert.equal(report.proof.length, 9);
  assert.equal(report.holds, true);
  assert.equal(code, 0);
}

// At once: most of the time of the second is the end of leases that is waited for.
describe('each demo, with a Baton of its own', { concurrency: true }, () => {
  test('the demo starts a Baton, its agents drain a backlog, and the journal proves it', async () => {
    const run = await runDemo('--tasks', '60', '--agents', '6');
    assertProven(run);
    const { issues, claims, exchanges, killed, approved, budgetsRefused } = run.report;
    assert.equal(issues.open + issues.done + issues.deleted, 60);
    assert.equal(claims, issues.open);
    assert.equal(exchanges, 8);
    assert.ok(approved >= 1, 'a person opened a gate');
    assert.ok(budgetsRefused >= 1, 'a run met its budget');
    assert.equal(killed, 0);
    assert.match(run.stderr, /working +\[#{24}\] (\d+)\/\1 /);
  });

  test('with agents killed while they hold leases, the work is done exactly once and stale writes are refused', async () => {
    const run = await runDemo('--tasks', '60', '--agents', '6', '--kill');
    assertProven(run);
    const { killed, stalledRefused, stalledAccepted } = run.report;
    assert.ok(killed >= 3);
    assert.equal(stalledAccepted, 0);
    assert.ok((stalledRefused.stale_claim ?? 0) >= 2, JSON.stringify(stalledRefused));
  });

  test('the small company: one finished task leads to a review by rule, and the terminal says why', async () => {
    const env = { ...process.env, BATON_HOME: emptyHome, IAM_DATABASE_URL: '', CP_DATABASE_URL: '' };
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [program, 'demo', '--organisation'],
      { env, timeout: limitMs },
    );
    keepLog(`${stdout}\n${stderr}`);
    const limits = [...stdout.matchAll(/at most (\d+) actions in a run, says (.*)/g)].map((match) =>
      match.slice(1),
    );
    assert.deepEqual(limits, [
      ['40', 'its template'],
      ['10', 'the revision of Web shop of Nordwind'],
    ]);
    assert.match(stdout, /100 for the second are refused: governance_weakened/);
    const [due, sooner] = [...stdout.matchAll(/(?:end on|holiday said) +(.*)$/gm)].map(
      ([, moment]) => moment,
    );
    assert.ok(due !== undefined && sooner !== undefined && due !== sooner, stdout);
    const finished = /^(TASK-\d+) "(.*)" was finished by demo agent/m.exec(stdout);
    assert.ok(finished !== null, stdout);
    assert.match(stdout, new RegExp(`TASK-\\d+ "Review: ${finished[2]}"`));
    assert.match(
      stdout,
      /rule +demo-review-\w+, version 1: when a task of type demo-change-\w+ is completed/,
    );
    assert.match(stdout, new RegExp(`cause +event:[0-9a-f-]{36}, the task.completed of ${finished[1]}`));
    assert.match(
      stdout,
      /^Knowledge, attached to the web shop by a snapshot of demo-handbook: policy:invoices$/m,
    );
    assert.match(stdout, /^What memory says to who takes TASK-\d+:\n {2}policy:invoices: .*up to 500 EUR/m);
  });
});
