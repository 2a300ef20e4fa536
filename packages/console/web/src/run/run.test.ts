import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { JournalEvent, Run } from '@baton/sdk';
import {
  type Answers,
  all,
  click,
  exampleOf,
  fill,
  find,
  isThere,
  itemOf,
  meId,
  notSeen,
  open,
  pageOf,
  Refusal,
  see,
  seen,
  settled,
  sockets,
  submit,
  test,
  until,
} from '../testing/page.ts';
import { graceId, taskWith } from '../testing/tasks.ts';

const evil = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>';
const task = taskWith({ title: 'Mend the roof' });
const at = (minute: number) => `2026-03-02T09:${String(minute).padStart(2, '0')}:00.000Z`;
const runWith = (other: Partial<Run> = {}): Run =>
  exampleOf('runs.get', {
    taskId: task.id,
    principalId: graceId,
    attempt: 2,
    status: 'running',
    startedAt: at(0),
    finishedAt: null,
    input: null,
    output: null,
    failureReason: null,
    cancelRequestedAt: null,
    maxDurationSeconds: null,
    maxActions: null,
    maxTokens: null,
    maxCostMicros: null,
    usage: { inputTokens: 0, outputTokens: 0, costs: [] },
    agentRevisionId: null,
    instructionsHash: null,
    version: 4,
    ...other,
  });
const checkpoint = (seq: number, data: Record<string, unknown>) =>
  itemOf('runs.listCheckpoints', {
    id: `c${seq}`.padEnd(36, '0'),
    seq,
    kind: 'step',
    data,
    createdAt: at(seq),
  });
const message = (other: object) =>
  itemOf('runs.listControlMessages', {
    operation: 'steer',
    status: 'accepted',
    directive: 'Use the old tiles.',
    reason: '',
    safeBoundary: null,
    requestedByPrincipalId: meId,
    acceptedAt: at(20),
    resolvedAt: null,
    ...other,
  });
const event = (type: string, minute: number, payload: Record<string, unknown> = {}): JournalEvent =>
  itemOf('events.list', {
    id: `${type}-${minute}`,
    type,
    entityType: 'run',
    entityId: runWith().id,
    actorId: graceId,
    payload: { taskId: task.id, attempt: 2, ...payload },
    occurredAt: at(minute),
  });
const events = (...items: JournalEvent[]) => ({
  items,
  nextCursor: 'ec1_end',
  hasMore: false,
  prevCursor: null,
});

const openRun = (run: Run, more: Answers = {}, permissions?: string[]) =>
  open(`/runs/${run.id}`, {
    answers: { 'runs.get': run, 'tasks.get': task, 'runs.list': pageOf(run), ...more },
    ...(permissions && { me: { permissions } }),
  });
const part = (name: string) =>
  seen(all('region').find((one) => one.querySelector('h2')?.textContent === name));

describe("an attempt's page", () => {
  test('shows the attempt, its agent, its figures beside their limits, and a link to its task', async () => {
    await openRun(
      runWith({
        status: 'succeeded',
        finishedAt: at(12),
        maxDurationSeconds: 3_600,
        maxTokens: 50_000,
        maxActions: 20,
        maxCostMicros: 2_000_000,
        currency: 'USD',
        usage: { inputTokens: 12_000, outputTokens: 400, costs: [{ currency: 'USD', costMicros: 420_000 }] },
      }),
      { 'runs.listActions': pageOf(itemOf('runs.listActions')) },
    );
    assert.equal(seen(await find('heading', /^Attempt 2/)), 'Attempt 2 at Mend the roof');
    await see(/succeeded\s*G\s*Grace/);
    const figures = seen(document.querySelector('dl[aria-label="Figures"]') as Element);
    assert.match(
      figures,
      /Duration\n12 min of 1 h\nCheckpoints\n0\nActions\n1 of 20\nTokens\n12\.4K of 50K\nCost\n\$0\.42 of \$2\.00/,
    );
    assert.equal((await find('link', task.publicId)).getAttribute('href'), `/tasks/${task.publicId}`);
    assert.equal(document.title, `Attempt 2 at ${task.publicId} Mend the roof · Baton`);
  });

  test('a missing one is reported with its code', async () => {
    await openRun(runWith(), { 'runs.get': new Refusal(404, 'not_found', 'There is no such run.') });
    await see('There is no such run.\nnot_found · req_test');
  });

  test('its timeline has checkpoints, actions, messages and waits in order', async () => {
    const run = runWith({ status: 'suspended' });
    await openRun(run, {
      'runs.listCheckpoints': pageOf(
        checkpoint(3, { note: `Counted the tiles ${evil}`, broken: 4 }),
        checkpoint(9, { step: 'Ordered new ones' }),
      ),
      'runs.listActions': pageOf(
        itemOf('runs.listActions', {
          action: `shell ${evil}`,
          status: 'failed',
          startedAt: at(5),
          finishedAt: at(7),
          metadata: { exitCode: 1 },
          externalReference: null,
          usage: { inputTokens: 1_000, outputTokens: 200, costMicros: 20_000, currency: 'USD' },
        }),
      ),
      'runs.listControlMessages': {
        items: [message({ status: 'applied', safeBoundary: 'checkpoint:9', acceptedAt: at(8) })],
        nextCursor: 'x',
        hasMore: false,
      },
      'events.list': ({ query }) =>
        events(
          ...(query['entityId'] === run.id
            ? [
                event('run.started', 0),
                event('run.checkpointed', 3, { seq: 3 }),
                event('run.suspended', 10, { waitingForApprovalId: graceId }),
              ]
            : []),
        ),
      'approvals.get': exampleOf('approvals.get', { comment: 'Which tiles?' }),
    });
    const text = part('Timeline');
    const places = [
      'started attempt 2',
      'Checkpoint 3 step',
      'shell',
      'Ada steered the agent',
      'Checkpoint 9 step',
      'paused it to wait for Which tiles?',
    ].map((words) => text.indexOf(words));
    assert.ok(
      places.every((place) => place >= 0),
      text,
    );
    assert.deepEqual(
      places,
      places.toSorted((one, other) => one - other),
    );
    assert.ok(text.includes(`Counted the tiles ${evil}`));
    assert.match(text, /failed 2 min · 1\.2K tokens · \$0\.02 · /);
    assert.match(text, /Use the old tiles\.\napplied at checkpoint:9/);
    (await find('summary', 'Data')).click();
    await settled();
    assert.match(part('Timeline'), /broken\n4/);
    assert.equal(document.querySelector('main img, main script'), null);
  });

  test('a page that large documents end early is not the last one', async () => {
    const service = await openRun(runWith({ status: 'suspended' }), {
      'runs.listCheckpoints': ({ query }) =>
        query['cursor'] === undefined
          ? { ...pageOf(checkpoint(1, { note: 'Counted the tiles' })), nextCursor: 'second' }
          : pageOf(checkpoint(2, { note: 'Sold the house' })),
    });
    await see('Counted the tiles');
    await see('Sold the house');
    notSeen('The run has more entries');
    assert.equal(service.askedFor('runs.listCheckpoints').length, 2);
    assert.equal(service.askedFor('events.list').filter(({ query }) => query['entityId']).length, 1);
    service.answer({
      'runs.listCheckpoints': { ...pageOf(checkpoint(1, { note: 'Again' })), nextCursor: 'next' },
    });
    sockets.at(-1)?.brings(event('run.checkpointed', 1, { seq: 1 }));
    await see('The run has more entries');
  });

  test('a failure is shown with its whole text', async () => {
    const failureReason = `The crane fell. ${'x'.repeat(5_000)} ${evil} end`;
    await openRun(runWith({ status: 'failed', finishedAt: at(3), failureReason }));
    assert.equal(part('Failure'), `Failure\n${failureReason}`);
    assert.ok(!isThere('group', 'Direct the agent'));
  });

  test('a result has its summary, links, output, input and artifacts', async () => {
    await openRun(
      runWith({
        status: 'succeeded',
        finishedAt: at(3),
        input: { roof: 'north' },
        output: { summary: 'Whole again.', pullRequest: 'https://github.com/acme/roof/pull/3', tiles: 40 },
      }),
      {
        'artifacts.list': ({ query }) =>
          pageOf(...(query['runId'] === runWith().id ? [itemOf('artifacts.list', { name: 'photo' })] : [])),
      },
    );
    assert.match(
      part('Result'),
      /^Result\nWhole again\.\nPull request github\.com\/acme\/roof\/pull\/3\nOutput\nArtifacts\nphoto/,
    );
    assert.equal(part('Input'), 'Input\nroof\nnorth');
  });

  test('shows the revision of the agent and its instructions', async () => {
    const revision = itemOf('agents.listRevisions', { id: meId, revision: 7, active: false });
    const context = exampleOf('runs.getContext');
    const service = await openRun(runWith({ agentRevisionId: meId, instructionsHash: 'sha256:abc' }), {
      'agents.list': pageOf(itemOf('agents.list', { key: 'roofer', principalId: graceId })),
      'agents.listRevisions': pageOf(revision),
      'runs.getContext': {
        ...context,
        instructions: {
          hash: 'sha256:abc',
          layers: [{ source: 'taskType', ref: 'repair', version: 2, text: `Mind the cat. ${evil}` }],
        },
      },
    });
    assert.match(
      part('Executed by'),
      new RegExp(`Grace revision 7 of ${revision.spec.displayName} \\(no longer active\\)`),
    );
    assert.equal(service.askedFor('runs.getContext').length, 0);
    (await find('summary', 'Instructions')).click();
    await see(`Mind the cat. ${evil}`);
    await see('Task type repair, version 2');
    assert.equal(document.querySelector('main img'), null);
  });

  test('lists the other attempts, with this one marked', async () => {
    const first = runWith({ id: meId, attempt: 1, status: 'failed' });
    await openRun(runWith(), { 'runs.list': pageOf(runWith(), first) });
    assert.match(part('Attempts'), /2\. Grace\s*running.*1\. Grace\s*failed/s);
    assert.equal(
      document.querySelector('[aria-current="page"][href^="/runs/"]')?.getAttribute('href'),
      `/runs/${runWith().id}`,
    );
    assert.equal((await find('link', /^1\. Grace/)).getAttribute('href'), `/runs/${meId}`);
  });

  test('follows the journal: an event of the run refetches it, one of another run does not', async () => {
    const run = runWith();
    const service = await openRun(run);
    await until(() => sockets.length > 0);
    service.answer({
      'runs.get': { ...run, status: 'succeeded', finishedAt: at(9) },
      'runs.listCheckpoints': pageOf(checkpoint(1, { note: 'Up on the roof' })),
    });
    sockets.at(-1)?.brings({ ...event('run.checkpointed', 1), entityId: meId });
    sockets.at(-1)?.brings(event('run.checkpointed', 1, { seq: 1 }));
    await see('Up on the roof');
    await see(/succeeded/);
    assert.equal(service.askedFor('runs.listCheckpoints').length, 2);
  });
});

describe('directing an agent', () => {
  test('a hint is sent with the version and the last checkpoint that the sender saw', async () => {
    const run = runWith();
    const service = await openRun(run, {
      'runs.listCheckpoints': pageOf(checkpoint(1, {}), checkpoint(2, {})),
      'runs.sendControlMessage': exampleOf('runs.sendControlMessage'),
    });
    await click('button', 'Steer …');
    await see('The agent keeps its task and takes the hint into account at its next safe point.');
    await fill('textbox', 'Message to the agent', '  Use the old tiles. ');
    await submit('textbox', 'Message to the agent');
    const [asked] = service.askedFor('runs.sendControlMessage');
    assert.deepEqual(asked?.body, {
      operation: 'steer',
      causalPosition: 'checkpoint:2',
      directive: 'Use the old tiles.',
      expectedRunVersion: 4,
    });
    assert.ok(asked?.headers.get('idempotency-key'));
    await see('Sent to the agent.');
    assert.ok(!isThere('textbox', 'Message to the agent'));
  });

  test('a new direction is sent as such', async () => {
    const service = await openRun(runWith(), {
      'runs.sendControlMessage': exampleOf('runs.sendControlMessage'),
    });
    await click('button', 'Redirect …');
    await fill('textbox', 'Message to the agent', 'Mend the wall instead.');
    await submit('textbox', 'Message to the agent');
    const { operation, causalPosition } = service.askedFor('runs.sendControlMessage')[0]?.body as Record<
      string,
      unknown
    >;
    assert.deepEqual([operation, causalPosition], ['redirect', 'run:started']);
  });

  test('a stop by itself needs no reason, and is requested once', async () => {
    const run = runWith();
    const service = await openRun(run, { 'runs.requestCancel': { ...run, cancelRequestedAt: at(5) } });
    await click('button', 'Request stop …');
    service.answer({ 'runs.get': { ...run, cancelRequestedAt: at(5) } });
    await submit('textbox', 'Reason (optional)');
    assert.deepEqual(service.askedFor('runs.requestCancel')[0]?.body, {});
    await see(/stop requested/);
    assert.ok((await find<HTMLButtonElement>('button', 'Request stop …')).disabled);
  });

  test('an immediate stop names its effect, and is sent only by its own button', async () => {
    const service = await openRun(runWith(), {
      'runs.sendControlMessage': exampleOf('runs.sendControlMessage'),
    });
    await click('button', 'Stop now …');
    await see('The attempt and the attempts that it launched end immediately.');
    assert.equal(service.askedFor('runs.sendControlMessage').length, 0);
    await fill('textbox', 'Reason', 'It burns.');
    await click('button', 'Stop now');
    assert.deepEqual(service.askedFor('runs.sendControlMessage')[0]?.body, {
      operation: 'force_cancel',
      causalPosition: 'run:started',
      reason: 'It burns.',
      expectedRunVersion: 4,
    });
  });

  test('a rejected message stays in its form, with the code', async () => {
    await openRun(runWith(), {
      'runs.sendControlMessage': new Refusal(409, 'run_version_conflict', 'The run has changed.'),
    });
    await click('button', 'Steer …');
    await fill('textbox', 'Message to the agent', 'Not lost');
    await submit('textbox', 'Message to the agent');
    await see('The run has changed.\nrun_version_conflict · req_test');
    assert.equal((await find<HTMLTextAreaElement>('textbox', 'Message to the agent')).value, 'Not lost');
  });

  test('without the permission, and after the end, there are no controls', async () => {
    await openRun(runWith(), {}, ['tasks.read', 'tasks.claim']);
    assert.ok(!isThere('group', 'Direct the agent'));
    notSeen('Steer');
  });

  test('the holder directs their own attempt', async () => {
    await openRun(runWith({ principalId: meId }), {}, ['tasks.read', 'tasks.claim']);
    assert.ok(isThere('button', 'Steer …'));
  });
});
