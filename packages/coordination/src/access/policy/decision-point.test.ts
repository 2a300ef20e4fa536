import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, beforeEach, describe, test } from 'node:test';
import { assertTookLess, isLongProof } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { readCoordinationSettings } from '../../app/settings.ts';
import { permissionNames } from '../../service/permissions.ts';
import { startPolicyService, type TestPolicy } from '../../testing/access/policy-service.ts';
import { until } from '../../testing/wait-until.ts';
import { consistencyOf, isCheckedOn, isDecidedHere } from './catalogue.ts';
import { NoDecision, type Question } from './decision.ts';
import { openDecisionPoint } from './decision-point.ts';

let policy: TestPolicy;
before(async () => {
  policy = await startPolicyService();
});
after(() => policy.close());
beforeEach(() => {
  policy.behave(undefined);
  policy.decide(() => true);
  policy.list(() => []);
  policy.version = '1';
  policy.asked.length = 0;
  policy.requests.length = 0;
});

const open = (settings: Record<string, string> = {}) =>
  openDecisionPoint(
    readCoordinationSettings({
      ...policy.env,
      CP_IAM_ISSUER: 'http://identity.test',
      CP_IAM_JWKS_URL: 'http://identity.test/keys',
      CP_AUTHZ_MODE: 'policy',
      CP_POLICY_TIMEOUT_SECONDS: '10',
      ...settings,
    }),
  );

const tenantId = newId();
const who = newId();
const subject = { kind: 'agent', iamPrincipalId: who, tenantId } as const;
const taskId = newId();
const owner = { object: `task:${taskId}`, relation: 'owner', subject: `principal:${who}` };
const question = (action = 'tasks.read', id = taskId): Question => ({
  subject,
  action,
  resource: { type: 'task', id, tuples: id === taskId ? [owner] : [] },
});
const list = { subject, action: 'tasks.read', type: 'task' } as const;
const answerWith = (status: number, body: string, headers: Record<string, string> = {}) =>
  policy.behave((_path, _body, res: ServerResponse) => {
    res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
    return 'answered';
  });
const json = (status: number, body: unknown) => answerWith(status, JSON.stringify(body));

for (const wire of ['baton', 'authzen'] as const)
  describe(`with the protocol ${wire}`, () => {
    const point = (settings: Record<string, string> = {}) => open({ CP_POLICY_WIRE: wire, ...settings });
    const paths = {
      baton: ['/api/v1/decisions:check', '/api/v1/decisions:batch-check', '/api/v1/decisions:list-objects'],
      authzen: ['/access/v1/evaluation', '/access/v1/evaluations', '/access/v1/search/resource'],
    }[wire];

    test('single and multiple questions are sent with the token of this service and decided in order', async () => {
      policy.decide(({ action }) => action === 'tasks.read');
      const asking = point();
      const [one] = await asking.decide([question()]);
      assert.equal(one?.allowed, true);
      assert.equal(one?.reasonCode, 'allowed');
      assert.equal(policy.requests[0]?.path, paths[0]);
      assert.match(policy.requests[0]?.authorization ?? '', /^Bearer policy-access-token/);
      const { tuples, resource, kind, action } = policy.asked[0] as (typeof policy.asked)[number];
      assert.deepEqual([kind, action, resource], ['agent', 'tasks.read', `task:${taskId}`]);
      assert.deepEqual(tuples, [owner]);
      const ids = Array.from({ length: 250 }, newId);
      const asked = ids.map((id, n) => question(n % 2 === 0 ? 'tasks.read' : 'tasks.write', id));
      const answers = await asking.decide(asked);
      assert.deepEqual(
        answers.map(({ allowed }) => allowed),
        ids.map((_, n) => n % 2 === 0),
      );
      assert.deepEqual(
        policy.requests.slice(1).map(({ path }) => path),
        [paths[1], paths[1], paths[1]],
        'a hundred in each request',
      );
    });

    test('decisions, including denials, are cached for the configured time', async () => {
      policy.decide(() => false);
      const asking = point();
      for (let time = 0; time < 3; time += 1)
        assert.equal((await asking.decide([question()]))[0]?.allowed, false);
      assert.equal(policy.asked.length, 1);
      asking.forget();
      await asking.decide([question()]);
      assert.equal(policy.asked.length, 2);
      await Promise.all(Array.from({ length: 20 }, () => asking.decide([question('tasks.write')])));
      assert.equal(policy.asked.length, 3, 'concurrent identical questions share one request');
      const forgetful = point({ CP_POLICY_CACHE_TTL_SECONDS: '0' });
      await forgetful.decide([question()]);
      await forgetful.decide([question()]);
      assert.equal(policy.asked.length, 5);
    });

    test('a change to the object or to the deciding subject causes a new request', async () => {
      const asking = point();
      await asking.decide([question()]);
      const moved = { ...question().resource, tuples: [{ ...owner, relation: 'assignee' }] };
      await asking.decide([{ ...question(), resource: moved }]);
      await asking.decide([{ ...question(), subject: { ...subject, tenantId: newId() } }]);
      assert.equal(policy.asked.length, 3);
    });

    test('decisions on deciding approvals and changing principals are never cached', async () => {
      const asking = point();
      for (const action of ['approvals.decide', 'principals.write'])
        for (let time = 0; time < 2; time += 1) await asking.decide([question(action)]);
      assert.equal(policy.asked.length, 4);
    });

    test('a list of objects is fetched and cached', async () => {
      const ids = Array.from({ length: 3 }, newId);
      policy.list((asker, action, type) =>
        asker === who && `${action} ${type}` === 'tasks.read task' ? ids : [],
      );
      const asking = point();
      assert.deepEqual([...((await asking.objectsOf(list)) ?? [])], ids);
      assert.deepEqual([...((await asking.objectsOf(list)) ?? [])], ids);
      assert.equal(policy.requests.length, 1);
      assert.equal(policy.requests[0]?.path, paths[2]);
    });

    const silence = 'one byte at a time, or nothing';
    const hostile: Record<string, () => void> = {
      'a 500': () => json(500, {}),
      'a 403': () => json(403, { detail: 'scope_not_allowed' }),
      'a 404': () => json(404, {}),
      'a 204': () => answerWith(204, ''),
      'a redirect': () => answerWith(307, '{}', { location: `${policy.url}/elsewhere` }),
      'no JSON': () => answerWith(200, '<html>allowed</html>'),
      'a list instead of an object': () => json(200, [{ allowed: true, decision: true }]),
      null: () => json(200, null),
      'a string instead of a boolean': () => json(200, { allowed: 'true', decision: 'true' }),
      'none of the questions': () => json(200, {}),
      'more than the limit': () =>
        json(200, { allowed: true, decision: true, reasonCode: 'allowed', filler: 'x'.repeat(2_000_000) }),
      'a document nested 200,000 levels deep': () =>
        answerWith(200, `{"decision":${'['.repeat(200_000)}${']'.repeat(200_000)}}`),
      [silence]: () => {
        let requests = 0;
        policy.behave((_path, _body, res) => {
          requests += 1;
          if (requests % 2 === 0) return 'answered';
          res.writeHead(200, { 'content-type': 'application/json' });
          const drip = setInterval(() => res.write(' '), 50);
          res.once('close', () => clearInterval(drip));
          return 'answered';
        });
      },
      'a closed connection': () =>
        policy.behave((_path, _body, res) => {
          res.destroy();
          return 'answered';
        }),
    };
    for (const [what, behave] of Object.entries(hostile))
      test(`${what} is no decision`, async () => {
        behave();
        const startedAt = performance.now();
        const asking = point({ CP_POLICY_TIMEOUT_SECONDS: what === silence ? '2' : '10' });
        await Promise.all([
          assert.rejects(asking.decide([question()]), NoDecision),
          assert.rejects(asking.decide([question(), question('tasks.write')]), NoDecision),
          what === 'a 404' && wire === 'authzen'
            ? asking.objectsOf(list).then((ids) => assert.equal(ids, undefined))
            : assert.rejects(asking.objectsOf(list), NoDecision),
        ]);
        assertTookLess(startedAt, 9000);
        policy.behave(undefined);
        // A valid response may take longer than the timeout of 2 s on a busy machine, so `npm test` uses another point
        // with a longer timeout; only the long proof queries this one again.
        const again = what === silence && !isLongProof ? point({ CP_POLICY_TIMEOUT_SECONDS: '10' }) : asking;
        assert.equal((await again.decide([question()]))[0]?.allowed, true, 'and is not cached');
        assert.ok(!policy.requests.some(({ path }) => path === '/elsewhere'));
      });

    test('responses with fewer or more results than questions are rejected', async () => {
      const item = (action: string) => ({
        allowed: true,
        reasonCode: 'allowed',
        decision: true,
        action,
        resource: { type: 'task', id: taskId },
      });
      const two = [question(), question('tasks.write')];
      for (const items of [
        [item('tasks.read')],
        Array(3).fill(item('tasks.read')),
        Array(5000).fill(item('x')),
      ]) {
        json(200, { items, evaluations: items });
        await assert.rejects(point().decide(two), NoDecision);
      }
    });
  });

test('results in another order than the questions are refused if they contain their questions', async () => {
  const item = (action: string) => ({
    allowed: true,
    reasonCode: 'allowed',
    action,
    resource: { type: 'task', id: taskId },
  });
  json(200, { items: [item('tasks.write'), item('tasks.read')] });
  await assert.rejects(open().decide([question(), question('tasks.write')]), NoDecision);
  json(200, item('tasks.write'));
  await assert.rejects(open().decide([question()]), NoDecision);
  json(200, { ...item('tasks.read'), resource: { type: 'task', id: newId() } });
  await assert.rejects(open().decide([question()]), NoDecision);
});

test('a result may refer to its object as type:id and must still match the question', async () => {
  const item = (action: string, resource = `task:${taskId}`) => ({
    allowed: true,
    reasonCode: 'allowed',
    action,
    resource,
  });
  json(200, item('tasks.read'));
  assert.equal((await open().decide([question()]))[0]?.allowed, true);
  json(200, { items: [item('tasks.read'), item('tasks.write')] });
  assert.equal((await open().decide([question(), question('tasks.write')]))[1]?.allowed, true);
  for (const other of [`task:${newId()}`, `run:${taskId}`, taskId, '']) {
    json(200, item('tasks.read', other));
    await assert.rejects(open().decide([question()]), NoDecision, other);
    json(200, { items: [item('tasks.read'), item('tasks.write', other)] });
    await assert.rejects(open().decide([question(), question('tasks.write')]), NoDecision, other);
  }
});

test('a decision point that reports itself unavailable made no decision', async () => {
  const about = { action: 'tasks.read', resource: { type: 'task', id: taskId } };
  json(200, { allowed: false, reasonCode: 'unavailable', ...about });
  await assert.rejects(open().decide([question()]), NoDecision);
  json(200, { decision: false, context: { error: { status: 500, message: 'broken' } } });
  await assert.rejects(open({ CP_POLICY_WIRE: 'authzen' }).decide([question()]), NoDecision);
});

test('a decision by another policy version drops all cached decisions', async () => {
  const asking = open();
  await asking.decide([question()]);
  policy.version = '2';
  await asking.decide([question('tasks.write')]);
  policy.decide(() => false);
  assert.equal((await asking.decide([question()]))[0]?.allowed, false);
  assert.equal(policy.asked.length, 3);
});

test('a list is fetched up to its last page', async () => {
  const ids = Array.from({ length: 2500 }, newId);
  policy.behave((_path, body: { cursor?: string; limit: number }, res) => {
    const from = Number(body.cursor ?? 0);
    assert.equal(body.limit, 1000);
    const next = from + 1000 < ids.length ? { cursor: String(from + 1000) } : {};
    res.end(JSON.stringify({ objects: ids.slice(from, from + 1000), ...next }));
    return 'answered';
  });
  assert.equal((await open().objectsOf(list))?.size, 2500);
  assert.equal(policy.requests.length, 3);
  policy.behave((_path, body: { page: { token?: string } }, res) => {
    const from = Number(body.page.token ?? 0);
    const results = ids.slice(from, from + 1000).map((id) => ({ type: 'task', id }));
    const next = from + 1000 < ids.length ? String(from + 1000) : '';
    res.end(JSON.stringify({ results, page: { next_token: next } }));
    return 'answered';
  });
  assert.equal((await open({ CP_POLICY_WIRE: 'authzen' }).objectsOf(list))?.size, 2500);
});

for (const name of ['cursor', 'next_cursor', 'nextCursor'])
  test(`no page is lost if a list continues by ${name}`, async () => {
    const ids = Array.from({ length: 25 }, newId);
    policy.behave((_path, body: { cursor?: string }, res) => {
      const from = Number(body.cursor ?? 0);
      const next = from + 10 < ids.length ? String(from + 10) : null;
      res.end(JSON.stringify({ objects: ids.slice(from, from + 10), [name]: next }));
      return 'answered';
    });
    assert.deepEqual([...((await open().objectsOf(list)) ?? [])], ids);
    assert.equal(policy.requests.length, 3);
  });

describe('a search of AuthZEN that does not page', () => {
  const asking = () => open({ CP_POLICY_WIRE: 'authzen', CP_POLICY_TIMEOUT_SECONDS: '30' });
  /** A result as long as those of decision points that return more fields than the ids. */
  const resultOf = (id: string) =>
    JSON.stringify({ type: 'task', id, attributes: { note: 'n'.repeat(150) } });

  test('may return 100,000 results at once, 20 MB in total', async () => {
    const ids = Array.from({ length: 100_000 }, newId);
    policy.behave((_path, _body, res) => {
      res.end(`{"context":{"results":[1]},"results":[${ids.map(resultOf).join(',')}]}`);
      return 'answered';
    });
    const found = await asking().objectsOf(list);
    assert.equal(found?.size, 100_000);
    assert.ok(ids.every((id) => found.has(id)));
  });

  test('is cancelled once it exceeds the limit: the rest is neither awaited nor read', async () => {
    let left = false;
    policy.behave((_path, _body, res) => {
      res.once('close', () => (left = true));
      res.write(`{"results":[${Array.from({ length: 100_002 }, () => resultOf(newId())).join(',')}`);
      return 'answered';
    });
    await assert.rejects(
      asking().objectsOf(list),
      (error: Error) => error.message === 'a list that exceeds the limits',
    );
    await until(() => left);
  });

  test('a list fails if its results cannot be parsed or have another type', async () => {
    const wrong = [[{ type: 'run', id: newId() }], [{ type: 'task' }], ['task'], 'all', { 0: 1 }, null];
    for (const results of wrong) {
      json(200, { results });
      await assert.rejects(asking().objectsOf(list), NoDecision, JSON.stringify(results));
    }
    json(200, [{ results: [] }]);
    await assert.rejects(asking().objectsOf(list), NoDecision);
  });

  test('concurrent callers share one request for a list', async () => {
    policy.list(() => [taskId]);
    const point = asking();
    const found = await Promise.all(Array.from({ length: 20 }, () => point.objectsOf(list)));
    for (const ids of found) assert.deepEqual([...(ids ?? [])], [taskId]);
    assert.equal(policy.requests.length, 1);
  });
});

test('a list that never ends or exceeds the limits fails', async () => {
  let pages = 0;
  const endless: Record<string, () => unknown> = {
    'the same cursor again': () => ({ objects: [newId()], cursor: 'again' }),
    'nothing, and a cursor': () => ({ objects: [], cursor: String(pages) }),
    'ever more': () => ({ objects: Array.from({ length: 1000 }, newId), cursor: String(pages) }),
    'more than requested': () => ({ objects: Array.from({ length: 1001 }, newId) }),
    numbers: () => ({ objects: [1, 2] }),
  };
  for (const [what, body] of Object.entries(endless)) {
    pages = 0;
    policy.behave((_path, _body, res) => {
      pages += 1;
      res.end(JSON.stringify(body()));
      return 'answered';
    });
    await assert.rejects(open().objectsOf(list), NoDecision, what);
    assert.ok(pages <= 102, `${what}: ${pages} pages`);
  }
});

test('a decision point without search gets no further list request within a minute', async () => {
  for (const status of [404, 405, 501]) {
    policy.requests.length = 0;
    json(status, {});
    const asking = open({ CP_POLICY_WIRE: 'authzen' });
    assert.equal(await asking.objectsOf(list), undefined);
    assert.equal(await asking.objectsOf(list), undefined);
    assert.equal(policy.requests.length, 1);
  }
});

test('a token that the decision point rejects is not used again', async () => {
  const asking = open();
  json(401, { detail: 'invalid_iam_context' });
  await assert.rejects(asking.decide([question()]), NoDecision);
  policy.behave(undefined);
  await asking.decide([question()]);
  const [first, second] = policy.requests.map(({ authorization }) => authorization);
  assert.notEqual(first, second);
});

test('an unavailable identity service results in no decision', async () => {
  const asking = open({ CP_IAM_BASE_URL: 'http://127.0.0.1:9' });
  await assert.rejects(asking.decide([question()]), NoDecision);
});

test('a slow decision point delays only a limited number of requests of one tenant, and others get their decisions', async () => {
  const other = { ...question(), subject: { ...subject, tenantId: newId() } };
  const stuck = new Set<ServerResponse>();
  policy.behave((_path, body: { principalId: string; action: string }, res) => {
    if (body.action !== 'tasks.write') return undefined;
    stuck.add(res);
    return 'answered';
  });
  const asking = open({ CP_POLICY_CACHE_TTL_SECONDS: '0', CP_POLICY_TIMEOUT_SECONDS: '10' });
  await asking.decide([other]);
  const refused = Array.from({ length: 60 }, () =>
    assert.rejects(asking.decide([question('tasks.write', newId())]), NoDecision),
  );
  await until(() => stuck.size === 24);
  assert.equal((await asking.decide([other]))[0]?.allowed, true, 'not after the sixty');
  assert.equal(stuck.size, 24);
  policy.behave((_path, _body, res) => (res.destroy(), 'answered'));
  for (const res of stuck) res.destroy();
  await Promise.all(refused);
});

test('the catalog of actions contains every permission', () => {
  for (const name of permissionNames) {
    assert.equal(isCheckedOn(name, 'tenant'), true);
    if (isDecidedHere(name)) assert.ok(['admin', 'delegations.manage'].includes(name));
  }
  assert.equal(isCheckedOn('tasks.read', 'run'), true);
  assert.equal(isCheckedOn('tasks.write', 'run'), false);
  assert.equal(isCheckedOn('goals.write', 'workspace'), true);
  for (const name of ['tasks.write', 'approvals.manage', 'projects.manage', 'observations.write'] as const)
    assert.equal(isCheckedOn(name, 'workspace'), true, name);
  assert.equal(isCheckedOn('org.manage', 'workspace'), false);
  assert.deepEqual([consistencyOf('approvals.decide'), consistencyOf('tasks.read')], ['strong', 'default']);
});
