import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { keepLog } from '@baton/kernel/testing/leaks/leaks';
import { byDepth, longTest } from '@baton/testing/depth';
import { assertCompanyIsTold } from './testing/small-company.ts';

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

// Run in parallel, because the second one mostly waits for leases to expire.
describe('each demo, with a Baton of its own', { concurrency: true }, () => {
  test('the demo starts a Baton, its agents drain a backlog, and the journal proves it', async () => {
    // One task in 40, starting with the 20th, waits for a person.
    const [tasks, agents] = [byDepth(30, 60), byDepth(3, 6)];
    const run = await runDemo('--tasks', String(tasks), '--agents', String(agents));
    assertProven(run);
    const { issues, claims, exchanges, killed, approved, budgetsRefused } = run.report;
    assert.equal(issues.open + issues.done + issues.deleted, tasks);
    assert.equal(claims, issues.open);
    assert.equal(exchanges, agents + 2);
    assert.ok(approved >= 1, 'a person opened a gate');
    assert.ok(budgetsRefused >= 1, 'a run met its budget');
    assert.equal(killed, 0);
    assert.match(run.stderr, /working +\[#{24}\] (\d+)\/\1 /);
  });

  longTest(
    'with agents killed while they hold leases, the work is done exactly once and stale writes are rejected',
    async () => {
      const run = await runDemo('--tasks', '60', '--agents', '6', '--kill');
      assertProven(run);
      const { killed, stalledRefused, stalledAccepted } = run.report;
      assert.ok(killed >= 3);
      assert.equal(stalledAccepted, 0);
      assert.ok((stalledRefused.stale_claim ?? 0) >= 2, JSON.stringify(stalledRefused));
    },
  );

  // documentation.test.ts also checks this output, against a running Baton.
  longTest(
    'the small company: one finished task leads to a review by rule, and the terminal explains why',
    async () => {
      const env = { ...process.env, BATON_HOME: emptyHome, IAM_DATABASE_URL: '', CP_DATABASE_URL: '' };
      const { stdout, stderr } = await promisify(execFile)(
        process.execPath,
        [program, 'demo', '--organisation'],
        { env, timeout: limitMs },
      );
      keepLog(`${stdout}\n${stderr}`);
      assertCompanyIsTold(stdout);
    },
  );
});
