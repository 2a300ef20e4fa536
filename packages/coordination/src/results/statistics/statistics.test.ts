import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import {
  claimTask,
  done,
  endClaimLease,
  makeRun,
  makeTask,
  makeWorker,
  refused,
  type Worker,
} from '../../testing/leases.ts';
import { makeProject } from '../../testing/organisation/projects.ts';
import { makeNarrowPerson, makeWorkspace } from '../../testing/organisation/workspaces.ts';
import {
  addTime,
  dateIn,
  durationsOf,
  type History,
  readHistory,
  secondsBetween,
  spreadOut,
} from '../../testing/results/recount.ts';

const tasksMade = byDepth(60, 240);
const dayMs = 86_400_000;

let baton: TestCoordination;
let person: Actor;
let decider: Actor;
let workers: Worker[];
let places: (string | null)[];
let mine: string;
let child: string;
let project: { id: string; workspaceId: string };
let history: History;

/** A small generator of numbers from 0 to below `n`; the same history in each run. */
let seed = 7;
const random = (n: number): number => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
  return Math.floor((seed / 2_147_483_648) * n);
};
const oneOf = <T>(items: readonly T[]): T => items[random(items.length)] as T;

before(async () => {
  baton = await startCoordination();
  const narrow = await makeNarrowPerson(baton);
  person = narrow.person;
  mine = narrow.mine.id;
  child = (await makeWorkspace(baton, { parentId: mine })).id;
  project = await makeProject(baton, { parentWorkspaceId: mine });
  places = [mine, child, project.workspaceId, narrow.other.id, null];
  decider = await baton.actor({ kind: 'human' });
  workers = [await makeWorker(baton), await makeWorker(baton), await makeWorker(baton)];
  for (let n = 0; n < tasksMade; n += 1) await makeHistory();
  history = await readHistory(baton);
});
after(() => baton.close());

/** One task with a random history within the last 90 days. */
async function makeHistory(): Promise<void> {
  const task = await makeTask(baton, { workspaceId: oneOf(places) });
  await act(task.id);
  const begin = new Date(Date.now() - (5 + random(85)) * dayMs - random(dayMs)).toISOString();
  await spreadOut(baton, task.id, { begin, factor: oneOf([1, 1000, 200_000, 2_000_000]) });
}

async function act(taskId: string): Promise<void> {
  const complete = async () => {
    const { version } = await done(baton.admin.get(`/tasks/${taskId}`));
    await done(baton.admin.post(`/tasks/${taskId}:complete`, {}, { 'if-match': `task-${version}` }));
  };
  switch (random(6)) {
    case 0:
      return complete();
    case 1:
      return decide(taskId);
    case 2:
      await loseLease(taskId);
      return work(taskId, 'fail');
    case 3:
      await decide(taskId);
      return work(taskId, 'succeed');
    case 4:
      return work(taskId, oneOf(['succeed', 'fail', 'leave']));
    default:
      await work(taskId, 'fail');
      await loseLease(taskId);
      return complete();
  }
}

async function decide(taskId: string): Promise<void> {
  const body = { task: taskId, assignedPrincipalId: decider.principalId };
  const { id } = await done(baton.admin.post('/approvals', body), 201);
  const verb = oneOf(['approve', 'reject', 'cancel', 'wait']);
  if (verb === 'wait') return;
  await done((verb === 'cancel' ? baton.admin : decider).post(`/approvals/${id}:${verb}`, {}));
}

/** Claims a task even if a failed attempt has paused it. */
async function claim(worker: Worker, taskId: string) {
  await baton.pool.run(sql`update tasks set retry_at = null where id = ${taskId} and retry_at is not null`);
  return claimTask(worker, taskId);
}

async function loseLease(taskId: string): Promise<void> {
  await claim(oneOf(workers), taskId);
  await endClaimLease(baton, taskId, -1);
}

async function work(taskId: string, end: 'succeed' | 'fail' | 'leave'): Promise<void> {
  const worker = oneOf(workers);
  const { id: claimId, fencingToken } = await claim(worker, taskId);
  const keys = { claimId, fencingToken };
  const run = await done(worker.actor.post(`/tasks/${taskId}:start-run`, keys), 201);
  for (let n = random(4); n > 0; n -= 1) {
    const usage = {
      inputTokens: random(1000),
      outputTokens: random(100),
      ...(random(2) === 0 && { costMicros: random(5000), currency: oneOf(['USD', 'EUR']) }),
    };
    const status = oneOf(['completed', 'started']);
    const action = await done(
      worker.actor.post(`/runs/${run.id}/actions`, { action: 'think', status, usage }),
      201,
    );
    if (status === 'started' && random(2) === 0)
      await done(
        worker.actor.post(`/runs/${run.id}/actions/${action.id}:finish`, {
          status: 'completed',
          usage: { inputTokens: 7 },
        }),
      );
  }
  if (end === 'leave') return;
  await done(worker.actor.post(`/runs/${run.id}:${end}`, {}));
  if (end === 'fail') await done(worker.actor.post(`/claims/${claimId}:release`, {}));
}

const date = (daysAgo: number) => new Date(Date.now() - daysAgo * dayMs).toISOString().slice(0, 10);
/** Ranges that end before today, so that no figure changes during the test. */
const ranges = [
  { from: date(91), to: date(2), timeZone: 'America/New_York' },
  { from: date(60), to: date(20), timeZone: 'Asia/Kolkata' },
  { from: date(30), to: date(3), timeZone: 'UTC' },
  { from: date(40), to: date(40), timeZone: 'Australia/Lord_Howe' },
];

/** Who reads which part: the query, and the workspaces whose tasks count. */
const views = (): { by: Actor; query: string; counted: (string | null)[] }[] => [
  { by: baton.admin, query: '', counted: places },
  { by: person, query: '', counted: [mine, child, project.workspaceId, null] },
  { by: baton.admin, query: `&workspaceId=${mine}`, counted: [mine] },
  {
    by: person,
    query: `&workspaceId=${mine}&includeDescendants=true`,
    counted: [mine, child, project.workspaceId],
  },
  { by: baton.admin, query: `&projectId=${project.id}`, counted: [project.workspaceId] },
];

/** Compares an endpoint's responses with a recount, for every range and view. */
async function compare(
  path: string,
  recount: (counted: Counted, range: (typeof ranges)[0]) => object,
): Promise<void> {
  for (const range of ranges)
    for (const { by, query, counted } of views()) {
      const { from, to, timeZone } = range;
      const address = `${path}${path.includes('?') ? '&' : '?'}from=${from}&to=${to}&timeZone=${timeZone}${query}`;
      const found = await done(by.get(address));
      assert.deepEqual(found, { ...range, ...recount(countedOf(counted, range), range) }, address);
    }
}

type Counted = ReturnType<typeof countedOf>;

function countedOf(workspaces: (string | null)[], { from, to, timeZone }: (typeof ranges)[0]) {
  const taskIds = new Set(
    history.tasks.filter(({ workspace_id }) => workspaces.includes(workspace_id)).map(({ id }) => id),
  );
  const dates: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += dayMs)
    dates.push(new Date(at).toISOString().slice(0, 10));
  const dayOf = (at: string) => dateIn(timeZone, at);
  return { taskIds, dates, dayOf, isIn: (at: string) => dates.includes(dayOf(at)) };
}

describe('figures equal a plain recount of a generated history', () => {
  test('created and completed tasks, lead and cycle times, from the journal', async () => {
    const { events } = history;
    const createdAt = new Map(
      events
        .filter(({ type }) => type === 'task.created')
        .map((event) => [event.entity_id, event.occurred_at]),
    );
    const claimedAt = new Map<string, string>();
    for (const { task_id, acquired_at } of history.claims)
      if (!claimedAt.has(task_id)) claimedAt.set(task_id, acquired_at);
    await compare('/statistics/work', ({ taskIds, dates, dayOf, isIn }) => {
      const created = [...createdAt].filter(([id, at]) => taskIds.has(id) && isIn(at));
      const completed = events.filter(
        ({ type, entity_id, occurred_at }) =>
          type === 'task.completed' && taskIds.has(entity_id) && isIn(occurred_at),
      );
      const figuresOf = (done: typeof completed) => ({
        completed: done.length,
        leadTime: durationsOf(
          done.map(({ entity_id, occurred_at }) =>
            secondsBetween(createdAt.get(entity_id) as string, occurred_at),
          ),
        ),
        cycleTime: durationsOf(
          done.flatMap(({ entity_id, occurred_at }) => {
            const at = claimedAt.get(entity_id);
            return at === undefined ? [] : [secondsBetween(at, occurred_at)];
          }),
        ),
      });
      return {
        created: created.length,
        ...figuresOf(completed),
        days: dates.map((day) => ({
          date: day,
          created: created.filter(([, at]) => dayOf(at) === day).length,
          ...figuresOf(completed.filter(({ occurred_at }) => dayOf(occurred_at) === day)),
        })),
      };
    });
  });

  test('the time for which requests for a decision waited', async () => {
    const now = Date.now();
    await compare('/statistics/waits', ({ taskIds, dates, dayOf, isIn }, { timeZone }) => {
      const visible = history.approvals.filter(({ task_id }) => task_id !== null && taskIds.has(task_id));
      const waited = new Map<string, number>();
      for (const { status, created_at, decision_at, updated_at } of visible) {
        const end = status === 'pending' ? now : Date.parse(decision_at ?? updated_at);
        addTime(waited, timeZone, Date.parse(created_at), end);
      }
      const decided = visible.filter(({ decision_at }) => decision_at !== null && isIn(decision_at));
      const figuresOf = (some: typeof decided) => ({
        decided: some.length,
        decisionTime: durationsOf(
          some.map(({ created_at, decision_at }) => secondsBetween(created_at, decision_at as string)),
        ),
      });
      const secondsOf = (day: string) => (waited.get(day) ?? 0) / 1000;
      const total = dates.reduce((sum, day) => sum + (waited.get(day) ?? 0), 0);
      return {
        waitingSeconds: total / 1000,
        requested: visible.filter(({ created_at }) => isIn(created_at)).length,
        pending: visible.filter(({ status }) => status === 'pending').length,
        ...figuresOf(decided),
        days: dates.map((day) => ({
          date: day,
          waitingSeconds: secondsOf(day),
          requested: visible.filter(({ created_at }) => dayOf(created_at) === day).length,
          ...figuresOf(decided.filter(({ decision_at }) => dayOf(decision_at as string) === day)),
        })),
      };
    });
  });

  test('lost leases, of which the journal has an event each', async () => {
    const lostIds = history.events
      .filter(({ type }) => type === 'claim.expired')
      .map((event) => event.entity_id);
    assert.ok(lostIds.length > 5);
    const lost = history.claims.filter(({ id }) => lostIds.includes(id));
    await compare('/statistics/leases', ({ taskIds, dates, dayOf, isIn }) => {
      const some = lost.filter(
        ({ task_id, released_at }) => taskIds.has(task_id) && isIn(released_at as string),
      );
      const holders = [...Map.groupBy(some, ({ holder_id }) => holder_id)]
        .map(([principalId, held]) => ({ principalId, lost: held.length, refusedWrites: 0 }))
        .sort((a, b) => b.lost - a.lost || (a.principalId < b.principalId ? -1 : 1));
      return {
        lost: some.length,
        refusedWrites: 0,
        days: dates.map((day) => ({
          date: day,
          lost: some.filter(({ released_at }) => dayOf(released_at as string) === day).length,
          refusedWrites: 0,
        })),
        holders,
      };
    });
  });

  for (const groupBy of ['principal', 'workspace', 'week'])
    test(`tokens and money by ${groupBy}, from the actions`, async () => {
      const workspaceOf = new Map(history.tasks.map(({ id, workspace_id }) => [id, workspace_id]));
      const key = { principal: 'principalId', workspace: 'workspaceId', week: 'week' }[groupBy] as string;
      await compare(`/statistics/usage?groupBy=${groupBy}`, ({ taskIds, dayOf, isIn }) => {
        const used = history.actions
          .map((action) => ({ ...action, at: action.finished_at ?? action.created_at }))
          .filter(({ task_id, at }) => taskIds.has(task_id) && isIn(at));
        const usageOf = (some: typeof used) => {
          const costs = new Map<string, number>();
          for (const { currency, cost_micros: micros } of some)
            if (currency !== null && micros !== null)
              costs.set(currency, (costs.get(currency) ?? 0) + micros);
          return {
            inputTokens: some.reduce((sum, { input_tokens: tokens }) => sum + (tokens ?? 0), 0),
            outputTokens: some.reduce((sum, { output_tokens: tokens }) => sum + (tokens ?? 0), 0),
            costs: [...costs]
              .sort(([a], [b]) => (a < b ? -1 : 1))
              .map(([currency, costMicros]) => ({ currency, costMicros })),
          };
        };
        const keyOf = ({ principal_id, task_id, at }: (typeof used)[0]): string | null => {
          if (groupBy === 'principal') return principal_id;
          if (groupBy === 'workspace') return workspaceOf.get(task_id) ?? null;
          let monday = Date.parse(dayOf(at));
          while (new Date(monday).getUTCDay() !== 1) monday -= dayMs;
          return new Date(monday).toISOString().slice(0, 10);
        };
        const weightOf = ({ usage }: { usage: ReturnType<typeof usageOf> }) =>
          usage.costs.reduce((sum, { costMicros }) => sum + costMicros, 0) * 1e9 +
          usage.inputTokens +
          usage.outputTokens;
        const groups = [...Map.groupBy(used, keyOf)]
          .map(([value, some]) => ({
            principalId: null,
            workspaceId: null,
            week: null,
            [key]: value,
            runs: new Set(some.map(({ run_id }) => run_id)).size,
            usage: usageOf(some),
          }))
          .sort((a, b) =>
            groupBy === 'week' ? (String(a.week) < String(b.week) ? -1 : 1) : weightOf(b) - weightOf(a),
          );
        return { groupBy, total: usageOf(used), groups, rest: null };
      });
    });

  test('what each principal held when', async () => {
    for (const daysAgo of [80, 40, 12])
      for (const { by, query, counted } of views()) {
        const [from, to] = [date(daysAgo), date(daysAgo - 6)].map((day) => `${day}T00:00:00.000Z`) as [
          string,
          string,
        ];
        const { taskIds } = countedOf(counted, ranges[0] as (typeof ranges)[0]);
        const expected = history.claims
          .map((claim) => {
            const ended = [claim.released_at, claim.expires_at]
              .filter((at) => at !== null)
              .sort()[0] as string;
            return { ...claim, ended };
          })
          .filter(
            ({ task_id, acquired_at, ended }) => taskIds.has(task_id) && acquired_at < to && ended > from,
          )
          .map(({ id, task_id, holder_id, acquired_at, ended }) => [
            id,
            task_id,
            holder_id,
            acquired_at,
            ended,
          ]);
        const found = await done(by.get(`/statistics/holdings?from=${from}&to=${to}${query}`));
        assert.equal(found.isTruncated, false);
        assert.deepEqual(
          found.items
            .map((held: any) => [
              held.claimId,
              held.taskId,
              held.holderId,
              held.acquiredAt,
              held.endedAt ?? history.claims.find(({ id }) => id === held.claimId)?.expires_at,
            ])
            .sort(),
          expected.sort(),
          query,
        );
      }
    const lasts = ({ acquired_at, released_at, expires_at }: History['claims'][0]) =>
      [released_at ?? expires_at, expires_at].every((end) => secondsBetween(acquired_at, end) > 1);
    const one = history.claims.find(lasts) as History['claims'][0];
    const week = `from=${one.acquired_at}&to=${new Date(Date.parse(one.acquired_at) + 7 * dayMs).toISOString()}`;
    const { items } = await done(
      baton.admin.get(`/statistics/holdings?${week}&principalId=${one.holder_id}`),
    );
    assert.ok(items.every(({ holderId }: any) => holderId === one.holder_id));
    assert.ok(items.some(({ claimId, title }: any) => claimId === one.id && title === 'wanted'));
  });
});

test('a live claim has no end; one whose lease has expired ended then, before anybody recorded it', async () => {
  const worker = await makeWorker(baton);
  const [live, expired] = [await makeTask(baton), await makeTask(baton)];
  await claimTask(worker, live.id);
  await claimTask(worker, expired.id);
  await endClaimLease(baton, expired.id, -1);
  const now = Date.now();
  const period = `from=${new Date(now - dayMs).toISOString()}&to=${new Date(now + dayMs).toISOString()}`;
  const { items } = await done(
    baton.admin.get(`/statistics/holdings?${period}&principalId=${worker.actor.principalId}`),
  );
  const ofTask = new Map<string, any>(items.map((held: any) => [held.taskId, held]));
  assert.deepEqual([ofTask.get(live.id).endedAt, ofTask.get(live.id).endReason], [null, null]);
  assert.equal(ofTask.get(expired.id).endReason, 'expired');
  assert.ok(ofTask.get(expired.id).endedAt !== null);
});

test('an ended session loses the leases of its claims', async () => {
  const worker = await makeWorker(baton);
  const workspace = await makeWorkspace(baton);
  const task = await makeTask(baton, { workspaceId: workspace.id });
  await claimTask(worker, task.id);
  const lost = async () =>
    (await done(baton.admin.get(`/statistics/leases?workspaceId=${workspace.id}`))).lost;
  assert.equal(await lost(), 0);
  await baton.pool.run(sql`
    update sessions set expires_at = now() - interval '1 ms', status = 'stale' where id = ${worker.sessionId}`);
  await claimTask(await makeWorker(baton), task.id);
  assert.equal(await lost(), 1);
});

test('a released claim is not lost, whatever reason its holder gives', async () => {
  const worker = await makeWorker(baton);
  const workspace = await makeWorkspace(baton);
  const task = await makeTask(baton, { workspaceId: workspace.id });
  const claim = await claimTask(worker, task.id);
  await done(worker.actor.post(`/claims/${claim.id}:release`, { reason: 'expired' }));
  assert.equal((await done(baton.admin.get(`/statistics/leases?workspaceId=${workspace.id}`))).lost, 0);
  const { items } = await done(
    baton.admin.get(`/statistics/holdings?principalId=${worker.actor.principalId}`),
  );
  assert.deepEqual(
    items.map(({ endReason }: any) => endReason),
    ['released'],
  );
});

test('the whole range is at most 92 days, and ends today by default', async () => {
  const { from, to, timeZone, days } = await done(baton.admin.get('/statistics/work'));
  assert.deepEqual([timeZone, days.length, days[0].date, days[29].date], ['UTC', 30, from, to]);
  assert.ok(
    [0, 1].some((ago) => date(ago) === to),
    to,
  );
  for (const path of ['work', 'waits', 'leases', 'usage'].map((name) => `/statistics/${name}`)) {
    await done(baton.admin.get(`${path}?from=2026-01-01&to=2026-04-02`));
    for (const range of [
      'from=2026-01-01&to=2026-04-03',
      'from=2026-01-02&to=2026-01-01',
      'from=1969-12-31&to=1970-01-01',
      'from=9998-12-31&to=9999-01-01',
      'to=0001-01-01',
    ])
      assert.equal((await refused(baton.admin.get(`${path}?${range}`), 422, 'invalid_range')).maxDays, 92);
    await done(baton.admin.get(`${path}?from=9998-12-31&to=9998-12-31&timeZone=Pacific/Kiritimati`));
    for (const zone of ['CEST', '%2B01:00', 'Europe/Nowhere', "'"])
      await refused(baton.admin.get(`${path}?timeZone=${zone}`), 422, 'invalid_time_zone');
    await refused(baton.admin.get(`${path}?from=2026-02-30`), 400, 'invalid_request');
    for (const name of ['workspaceId', 'projectId'])
      await refused(baton.admin.get(`${path}?${name}=${newId()}`), 404, 'not_found');
    await refused(person.get(`${path}?workspaceId=${places[3]}`), 404, 'not_found');
    await refused(baton.otherAdmin.get(`${path}?projectId=${project.id}`), 404, 'not_found');
  }
  const holdings = '/statistics/holdings?from=2026-01-01';
  await done(baton.admin.get(`${holdings}&to=2026-01-08`));
  const lastDay = await done(baton.admin.get('/statistics/holdings'));
  assert.equal(Date.parse(lastDay.to) - Date.parse(lastDay.from), dayMs);
  await refused(baton.admin.get('/statistics/holdings?to=0001-01-01'), 422, 'invalid_period');
  for (const to of ['2026-01-01', '2025-12-31', '2026-01-08T00:00:00.001Z'])
    assert.equal((await refused(baton.admin.get(`${holdings}&to=${to}`), 422, 'invalid_period')).maxDays, 7);
  await refused(person.get(`${holdings}&to=2026-01-02&workspaceId=${places[3]}`), 404, 'not_found');
});

test('another tenant has figures of its own', async () => {
  for (const name of ['work', 'waits', 'leases', 'usage']) {
    const figures = await done(baton.otherAdmin.get(`/statistics/${name}?from=${date(91)}&to=${date(0)}`));
    assert.doesNotMatch(JSON.stringify(figures), /:[1-9]/, name);
  }
});

test('usage names the 200 groups with the highest costs, and sums the others', async () => {
  const workspace = await makeWorkspace(baton);
  const worker = await makeWorker(baton);
  const { run, task } = await makeRun(baton, worker, { task: { workspaceId: workspace.id } });
  await done(
    worker.actor.post(`/runs/${run.id}/actions`, {
      action: 'think',
      usage: { inputTokens: 5, costMicros: 3 },
    }),
    201,
  );
  await done(worker.actor.post(`/runs/${run.id}:succeed`, {}));
  // Runs of 204 other principals, within one day.
  const noon = `${date(2)}T12:00:00.000Z`;
  await baton.pool.run(sql`
    insert into runs (id, tenant_id, task_id, claim_id, principal_id, session_id, fencing_token, attempt, status, started_at,
      finished_at, action_count, input_tokens, costs)
    select gen_random_uuid(), tenant_id, task_id, claim_id, gen_random_uuid(), session_id, 1, 1 + n, 'failed', ${noon}, ${noon}, 1, n,
      case when n > 4 then jsonb_build_object('USD', n * 10) else '{}' end
    from runs, generate_series(1, 204) n where id = ${run.id}`);
  const path = `/statistics/usage?workspaceId=${workspace.id}`;
  const { groups, rest, total } = await done(baton.admin.get(path));
  assert.equal(groups.length, 200);
  assert.deepEqual(groups[0].usage, {
    inputTokens: 204,
    outputTokens: 0,
    costs: [{ currency: 'USD', costMicros: 2040 }],
  });
  assert.deepEqual(rest, {
    groups: 5,
    runs: 5,
    usage: { inputTokens: 15, outputTokens: 0, costs: [{ currency: 'USD', costMicros: 3 }] },
  });
  assert.equal(total.inputTokens, 5 + (204 * 205) / 2);
  const byWorkspace = await done(baton.admin.get(`${path}&groupBy=workspace`));
  assert.deepEqual(byWorkspace.groups, [
    { principalId: null, workspaceId: workspace.id, week: null, runs: 205, usage: total },
  ]);
  assert.equal(task.workspaceId, workspace.id);
});
