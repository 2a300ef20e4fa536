import assert from 'node:assert/strict';
import { describe } from 'node:test';
import type { JournalEvent, Task } from '@baton/sdk';
import { approvalWith } from '../testing/approvals.ts';
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
import { answersOf, graceId, taskWith } from '../testing/tasks.ts';

const evil = '<img src=x onerror="window.ran=1"><script>window.ran=1</script>';

const openTask = (task: Task, more: Answers = {}, { permissions }: { permissions?: string[] } = {}) =>
  open(`/tasks/${task.publicId}`, {
    answers: { ...answersOf(task), ...more },
    ...(permissions && { me: { permissions } }),
  });
const part = (name: string) =>
  seen(all('region').find((one) => one.querySelector('h2')?.textContent === name));
let last = 0;
/** Returns an event of a task, at the given minute of a past hour. */
const eventOf = (
  task: Task,
  type: string,
  minute: number,
  payload: Record<string, unknown> = {},
): JournalEvent => {
  last += 1;
  return itemOf('events.list', {
    id: `event-${last}`,
    cursor: `ec1_c${last}`,
    sequence: minute + 1,
    type,
    entityType: type.split('.')[0] ?? '',
    entityId: task.id,
    actorId: graceId,
    requestId: null,
    payload,
    occurredAt: `2026-03-02T09:${String(minute).padStart(2, '0')}:00.000Z`,
  });
};
const eventPage = (items: JournalEvent[], prevCursor: string | null = null) => ({
  items,
  nextCursor: 'ec1_end',
  hasMore: false,
  prevCursor,
});
/** The journal of a task that contains only these events, newest first. */
const streamOf =
  (task: Task, ...events: JournalEvent[]): Answers['events.list'] =>
  ({ query }) =>
    eventPage(query['entityId'] === task.id ? events : []);
describe('the story of a task', () => {
  test('comments are shown among the activity, and a new one is sent with a key', async () => {
    const task = taskWith();
    const comment = itemOf('tasks.listComments', {
      authorPrincipalId: graceId,
      body: 'Half is done',
      editedAt: null,
    });
    const service = await openTask(task, {
      'events.list': streamOf(
        task,
        eventOf(task, 'task.comment_added', 1, { commentId: comment.id, authorPrincipalId: graceId }),
      ),
      'tasks.listComments': pageOf(comment),
      'tasks.createComment': comment,
    });
    assert.match(part('Activity'), /Grace commented .*\nHalf is done/);
    await fill('textbox', 'Your comment', '  Go on. ');
    await submit('textbox', 'Your comment');
    const [asked] = service.askedFor('tasks.createComment');
    assert.deepEqual([asked?.ids, asked?.body], [[task.id], { body: 'Go on.' }]);
    assert.ok(asked?.headers.get('idempotency-key'));
    assert.equal((await find<HTMLTextAreaElement>('textbox', 'Your comment')).value, '');
  });

  test('a comment that is not on the first page of comments is read alone', async () => {
    const task = taskWith();
    const comment = exampleOf('tasks.getComment', {
      id: meId,
      body: 'The newest',
      editedAt: '2026-03-02T09:00:00.000Z',
    });
    await openTask(task, {
      'events.list': streamOf(task, eventOf(task, 'task.comment_added', 1, { commentId: meId })),
      'tasks.getComment': comment,
    });
    await see('The newest\nedited');
  });

  test('a rejected comment stays in its field, with the code', async () => {
    await openTask(taskWith(), {
      'tasks.createComment': new Refusal(403, 'permission_denied', 'You need tasks.write.'),
    });
    await fill('textbox', 'Your comment', 'Not lost');
    await submit('textbox', 'Your comment');
    await see('You need tasks.write.');
    assert.equal((await find<HTMLTextAreaElement>('textbox', 'Your comment')).value, 'Not lost');
  });

  test('without the permission to read the journal, the comments are shown', async () => {
    const comment = (body: string) => itemOf('tasks.listComments', { id: body.padEnd(36, '0'), body });
    const service = await openTask(
      taskWith(),
      {
        'tasks.listComments': ({ query }) =>
          query['cursor'] === 'c2'
            ? pageOf(comment('Second'))
            : { items: [comment('First')], nextCursor: 'c2' },
      },
      { permissions: ['tasks.read'] },
    );
    await see('First');
    notSeen('Second');
    await click('button', 'Show more');
    await see('Second');
    assert.equal(service.askedFor('events.list').length, 0);
  });

  test('checks, evidence and the last verification are shown, and only HTTP addresses are linked', async () => {
    const external = (id: string, url: string) =>
      ({ kind: 'external', externalRef: { system: 'ci', id, url }, check: 'seen', note: evil }) as const;
    const verification = itemOf('tasks.listVerifications');
    const [result] = verification.results;
    assert.ok(result);
    const task = taskWith({
      acceptance: [
        {
          key: 'seen',
          kind: 'human',
          description: `A person has looked ${evil}`,
          addedByPrincipalId: graceId,
        },
      ],
      evidence: [external('safe', 'https://ci.example/1'), external('evil', 'javascript:window.ran=1')],
      verification: exampleOf('tasks.get').verification,
    });
    await openTask(task, {
      'tasks.listVerifications': pageOf({
        ...verification,
        attempt: 2,
        status: 'failed',
        checks: [],
        finishedAt: '2026-03-02T09:00:00.000Z',
        results: [{ ...result, key: 'seen', status: 'failed', message: 'Nobody looked.', reason: null }],
      }),
    });
    const text = part('Acceptance checks');
    assert.ok(text.includes(`A person has looked ${evil}`));
    assert.match(text, /0 of 1 passed/);
    assert.match(text, /failed: Nobody looked\. · decided by a person/);
    assert.match(text, /Verification 2 finished .*: failed\./);
    assert.equal((await find('link', 'ci safe')).getAttribute('href'), 'https://ci.example/1');
    assert.ok(text.includes('ci evil') && !isThere('link', 'ci evil'));
  });

  test('evidence shows the host of its link, whatever its name is, and hidden characters', async () => {
    const externalRef = {
      system: 'github',
      id: 'acme/pull/42\u202e',
      url: 'https://evil.example/acme/pull/42',
    };
    await openTask(
      taskWith({ evidence: [{ kind: 'external', externalRef, check: 'seen', note: 'a\u200bb' }] }),
    );
    assert.match(part('Acceptance checks'), /github acme\/pull\/42⟨U\+202E⟩ \(evil\.example\): a⟨U\+200B⟩b/);
  });

  test('a passed check shows who proved it and how', async () => {
    const verification = itemOf('tasks.listVerifications');
    const [result] = verification.results;
    assert.ok(result);
    const check = {
      description: 'The report exists',
      key: 'report',
      kind: 'deterministic',
      addedByPrincipalId: null,
    } as const;
    const person = { ...check, key: 'seen', kind: 'human', description: 'A person has looked' } as const;
    await openTask(
      taskWith({ acceptance: [check, person], verification: exampleOf('tasks.get').verification }),
      {
        'tasks.listVerifications': pageOf({
          ...verification,
          checks: [],
          results: [
            {
              ...result,
              key: 'report',
              status: 'passed',
              message: '',
              reason: null,
              evidence: [`artifact:${meId}`],
            },
            {
              ...result,
              key: 'seen',
              status: 'passed',
              message: '',
              reason: null,
              evidence: [`approval:${graceId}`],
            },
          ],
        }),
        'artifacts.get': exampleOf('artifacts.get', { name: 'report.md', createdByPrincipalId: graceId }),
        'approvals.get': approvalWith({
          id: graceId,
          decisionByPrincipalId: meId,
          decisionComment: 'Looks right',
        }),
      },
    );
    const text = part('Acceptance checks');
    assert.match(text, /2 of 2 passed/);
    assert.match(text, /The report exists\npassed · checked by Baton · report\.md by Grace/);
    assert.match(text, /A person has looked\npassed · decided by a person · decision by Ada: Looks right/);
  });

  test('attempts are shown with their failure, and a link to each', async () => {
    const run = itemOf('runs.list', {
      attempt: 2,
      status: 'failed',
      principalId: graceId,
      failureReason: `could not ${evil}`,
    });
    await openTask(taskWith(), { 'runs.list': pageOf(run) });
    assert.match(part('Attempts'), /Attempt 2 by Grace failed/);
    assert.ok(part('Attempts').includes(`could not ${evil}`));
    assert.equal((await find('link', 'Attempt 2')).getAttribute('href'), `/runs/${run.id}`);
  });

  test('the result has a summary, links with their hosts, the cost, the output and the artifacts', async () => {
    const run = itemOf('runs.list', {
      attempt: 3,
      status: 'succeeded',
      principalId: graceId,
      startedAt: '2026-03-02T09:00:00.000Z',
      finishedAt: '2026-03-02T09:12:00.000Z',
      output: {
        summary: `Fixed the race ${evil}`,
        commit: '3f2a91c0de',
        pullRequest: 'https://github.com/acme/shop/pull/12',
        preview: 'javascript:window.ran=1',
        steps: 4,
      },
    });
    const artifact = (id: string, other: object) =>
      itemOf('artifacts.list', {
        id: id.padEnd(36, '0'),
        type: 'report',
        uri: null,
        supersedesArtifactId: null,
        contentState: 'none',
        mediaType: null,
        sizeBytes: null,
        ...other,
      });
    const first = artifact('a', { name: 'draft' });
    const reference = itemOf('externalReferences.list', {
      externalSystem: 'jira',
      externalType: 'ticket',
      externalId: 'SHOP-7',
      metadata: {},
    });
    await openTask(taskWith(), {
      'runs.list': pageOf(run),
      'artifacts.list': pageOf(
        artifact('b', {
          name: 'the report',
          content: { text: `all well ${evil}` },
          supersedesArtifactId: first.id,
        }),
        first,
        artifact('v', { name: 'checks', type: 'verification' }),
      ),
      'externalReferences.list': pageOf(reference, {
        ...reference,
        id: meId,
        externalSystem: 'control-plane',
        externalId: 'process/x',
      }),
      'tasks.getUsage': {
        inputTokens: 12_000,
        outputTokens: 400,
        costs: [{ currency: 'USD', costMicros: 420_000 }],
      },
    });
    const text = part('Result');
    assert.ok(text.includes(`Fixed the race ${evil}`));
    assert.match(text, /Grace\s*Attempt 3\s*12 min, .*commit 3f2a91c\s*\$0\.42\s*12\.4K tokens/s);
    assert.match(text, /Ticket SHOP-7 in jira/);
    assert.doesNotMatch(text, /process\/x|checks/);
    assert.match(text, /Earlier versions \(1\)/);
    const link = await find('link', 'Pull request github.com/acme/shop/pull/12');
    assert.equal(link.getAttribute('href'), 'https://github.com/acme/shop/pull/12');
    assert.equal(link.getAttribute('rel'), 'noopener nofollow noreferrer');
    (await find('summary', 'Output')).click();
    (await find('summary', /^the report/)).click();
    await settled();
    assert.match(part('Result'), /preview\njavascript:window\.ran=1\nsteps\n4/);
    await see(`all well ${evil}`);
    assert.equal(document.querySelector('img, a[href^="javascript:"]'), null);
  });

  test('a task without a result has no section for it', async () => {
    await openTask(taskWith(), { 'artifacts.list': new Refusal(403, 'permission_denied') });
    assert.ok(!isThere('heading', 'Result'));
    assert.ok(!isThere('alert'));
  });

  test('the activity is shown in sentences, newest first, with that of its claims and attempts', async () => {
    const task = taskWith();
    const claim = itemOf('claims.list', {
      taskId: task.id,
      holderId: graceId,
      releasedAt: '2026-03-02T09:30:00.000Z',
    });
    await openTask(task, {
      'claims.list': ({ query }) => (query['taskId'] === undefined ? pageOf() : pageOf(claim)),
      'events.list': ({ query }) =>
        eventPage(
          query['entityId'] === claim.id
            ? [
                {
                  ...eventOf(task, 'claim.expired', 30, { taskId: task.id, reason: 'expired' }),
                  actorId: null,
                  entityId: claim.id,
                },
              ]
            : query['entityId'] === task.id
              ? [
                  eventOf(task, 'task.updated', 40, { changes: { priority: 'high' } }),
                  eventOf(task, 'task.created', 10, { title: task.title }),
                ]
              : [],
        ),
    });
    assert.deepEqual(
      all('listitem', undefined, await find('region', 'Activity')).map((line) =>
        seen(line).replace(/\s*[\d\w]+ days ago$/, ''),
      ),
      [
        'G\nGrace set the priority of it to high',
        "B\nThe claim expired: its holder didn't renew the lease",
        'G\nGrace created it',
      ],
    );
  });

  test('a line opens the raw events behind it, with their codes', async () => {
    const task = taskWith();
    const same = { requestId: 'req_1' };
    await openTask(task, {
      'events.list': streamOf(
        task,
        { ...eventOf(task, 'task.completed', 3, { status: 'done' }), ...same },
        { ...eventOf(task, 'task.updated', 2, { changes: { note: evil } }), ...same },
      ),
    });
    (await find('summary', /^Grace completed it as done/)).click();
    await settled();
    const texts = [...document.querySelectorAll('details code')].map(({ textContent }) => textContent);
    assert.deepEqual(texts, ['task.completed', 'task.updated']);
    assert.ok(part('Activity').includes('window.ran=1'));
    assert.equal(document.querySelector('main img'), null);
  });

  test('a filter reads only events of its kind, and older activity loads page by page', async () => {
    const task = taskWith();
    const service = await openTask(task, {
      'events.list': ({ query }) => {
        if (query['entityId'] !== task.id) return eventPage([]);
        if (query['before'] === 'ec1_old') return eventPage([eventOf(task, 'task.created', 1)]);
        const newest = Array.from({ length: 40 }, (_, place) => eventOf(task, 'task.updated', 59 - place));
        return eventPage(
          query['types'] === undefined ? newest : newest.slice(0, 1),
          query['types'] ? null : 'ec1_old',
        );
      },
    });
    const lines = async () => all('listitem', undefined, await find('region', 'Activity')).length;
    assert.equal(await lines(), 40);
    await click('button', 'Show older activity');
    assert.equal(await lines(), 41);
    assert.ok(!isThere('button', 'Show older activity'));
    await click('button', 'Comments');
    assert.equal((await find('button', 'Comments')).getAttribute('aria-pressed'), 'true');
    assert.equal(await lines(), 1);
    assert.equal(service.askedFor('events.list').at(-1)?.query['types'], 'task.comment_');
  });

  test('the note of a checkpoint is read once, not after each event of its run', async () => {
    const task = taskWith();
    const saved = { ...eventOf(task, 'run.checkpointed', 1, { taskId: task.id, seq: 1 }), entityId: meId };
    const [checkpoint, next] = [1, 2].map((seq) =>
      itemOf('runs.listCheckpoints', { seq, data: { note: `Step ${seq}` } }),
    );
    assert.ok(checkpoint && next);
    const service = await openTask(task, {
      'runs.list': pageOf(exampleOf('runs.get', { id: meId, taskId: task.id })),
      'runs.listCheckpoints': pageOf(checkpoint),
      'events.list': ({ query }) => eventPage(query['entityId'] === meId ? [saved] : []),
    });
    await see('Grace saved checkpoint 1: Step 1');
    await until(() => sockets.length > 0);
    service.answer({ 'runs.listCheckpoints': pageOf(checkpoint, next) });
    const before = service.askedFor('runs.list').length;
    sockets.at(-1)?.brings({
      ...eventOf(task, 'run.checkpointed', 2, { taskId: task.id, seq: 2 }),
      entityType: 'run',
      entityId: meId,
    });
    await see('Grace saved checkpoint 2');
    await until(() => service.askedFor('runs.list').length > before);
    await settled();
    const asked = service.askedFor('runs.listCheckpoints');
    assert.deepEqual([asked.length, asked[0]?.query], [1, { limit: '200' }]);
  });

  test('new events of the task appear as they occur, others do not', async () => {
    const task = taskWith();
    await openTask(task, { 'events.list': streamOf(task, eventOf(task, 'task.created', 1)) });
    await until(() => sockets.length > 0);
    sockets.at(-1)?.brings({ ...eventOf(task, 'task.claimed', 2, { holderId: graceId }) });
    sockets.at(-1)?.brings({
      ...eventOf(task, 'approval.requested', 3, { taskId: task.id, comment: 'May I?' }),
      entityId: meId,
    });
    sockets.at(-1)?.brings({ ...eventOf(task, 'task.made_available', 4), entityId: meId });
    sockets
      .at(-1)
      ?.brings({ ...eventOf(task, 'artifact.content_read', 5, { taskId: task.id }), entityId: meId });
    await see('Grace requested a decision from an approver: May I?');
    await see('Grace claimed it');
    notSeen('made');
    notSeen('opened the content');
  });

  test('untrusted text is shown verbatim and never run', async () => {
    const task = taskWith({ title: evil, description: `${evil}{{7*7}}`, customFields: { [evil]: evil } });
    const comment = itemOf('tasks.listComments', { body: `${evil} [x](javascript:window.ran=1)` });
    await openTask(task, {
      'events.list': streamOf(task, eventOf(task, 'task.comment_added', 1, { commentId: comment.id })),
      'tasks.listComments': pageOf(comment),
    });
    await see(`${evil}{{7*7}}`);
    await see('[x](javascript:window.ran=1)');
    assert.equal(document.querySelector('img, script, a[href^="javascript:"]'), null);
    assert.equal((globalThis as { ran?: number }).ran, undefined);
  });
});
