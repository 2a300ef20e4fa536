import assert from 'node:assert/strict';

/** Checks the knowledge that `baton demo --organisation` prints when a memory service is configured. */
export function assertKnowledgeIsTold(stdout: string): void {
  assert.match(
    stdout,
    /^Knowledge, attached to the web shop by a snapshot of demo-handbook: policy:invoices$/m,
  );
  assert.match(
    stdout,
    /^Memory's context for the holder of TASK-\d+:\n {2}policy:invoices: .*up to 500 EUR/m,
  );
}

/** Checks the whole output: the limits, the due dates, and the review that a rule creates from one finished task. */
export function assertCompanyIsTold(stdout: string): void {
  const limits = [...stdout.matchAll(/at most (\d+) actions in a run, set by (.*)/g)].map((match) =>
    match.slice(1),
  );
  assert.deepEqual(limits, [
    ['40', 'its template'],
    ['10', 'the revision of Web shop of Nordwind'],
  ]);
  assert.match(stdout, /100 for the second are rejected: governance_weakened/);
  const [due, sooner] = [...stdout.matchAll(/(?:end on|holiday gave) +(.*)$/gm)].map(([, moment]) => moment);
  assert.ok(due !== undefined && sooner !== undefined && due !== sooner, stdout);
  const finished = /^(TASK-\d+) "(.*)" was finished by demo agent/m.exec(stdout);
  assert.ok(finished !== null, stdout);
  assert.match(stdout, new RegExp(`TASK-\\d+ "Review: ${finished[2]}"`));
  assert.match(stdout, /rule +demo-review-\w+, version 1: when a task of type demo-change-\w+ is completed/);
  assert.match(stdout, new RegExp(`cause +event:[0-9a-f-]{36}, the task.completed of ${finished[1]}`));
  assertKnowledgeIsTold(stdout);
}
