import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { keepMessage, keepSecret } from '@baton/kernel/testing/leaks/leaks';

/** A received request, in either protocol. */
export interface ReceivedQuestion {
  readonly who: string;
  readonly kind: string;
  readonly action: string;
  /** `task:<id>`. */
  readonly resource: string;
  readonly tuples: readonly { object: string; relation: string; subject: string }[];
  /** The attributes of the object, as sent in the AuthZEN protocol. */
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly consistency?: string;
}

/** Responds to a request in place of the decision point; undefined passes the request on. */
export type Behaviour = (
  path: string,
  body: never,
  res: ServerResponse,
) => 'answered' | undefined | Promise<undefined>;

/**
 * A decision point that speaks both Baton's own protocol and AuthZEN 1.0, and also issues the tokens for them. A
 * function of the test decides. See docs/reference/authorization.md#wire-baton.
 */
export interface TestPolicy {
  readonly url: string;
  /** The settings of a service that uses it. */
  readonly env: Readonly<Record<string, string>>;
  /** Every request, in the order of arrival. */
  readonly asked: ReceivedQuestion[];
  /** The path of every request except those for tokens. */
  readonly requests: { path: string; body: unknown; authorization: string | undefined }[];
  /** The token requests. */
  readonly exchanges: { audience: string; scopes: readonly string[] }[];
  /** Replaces the policy; the caller must discard cached decisions. */
  decide(rule: (question: ReceivedQuestion) => boolean): void;
  /** The ids that a list request returns; by default none. */
  list(rule: (who: string, action: string, type: string) => readonly string[]): void;
  behave(behaviour: Behaviour | undefined): void;
  /** The policy by which the decision point decides. */
  version: string;
  close(): Promise<void>;
}

const clientSecret = 'the-secret-of-the-account-that-asks-2931';

export async function startPolicyService(): Promise<TestPolicy> {
  keepSecret('client secret', clientSecret);
  const asked: ReceivedQuestion[] = [];
  const requests: TestPolicy['requests'] = [];
  const exchanges: TestPolicy['exchanges'] = [];
  let rule: (question: ReceivedQuestion) => boolean = () => true;
  let lists: (who: string, action: string, type: string) => readonly string[] = () => [];
  let behaviour: Behaviour | undefined;
  let tokens = 0;
  const server = createServer((req, res) => void answer(req, res).catch(() => res.destroy()));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const policy: TestPolicy = {
    url,
    env: {
      CP_POLICY_BASE_URL: url,
      CP_IAM_BASE_URL: url,
      CP_IAM_CLIENT_ID: 'iam_sa_policy',
      CP_IAM_CLIENT_SECRET: clientSecret,
    },
    asked,
    requests,
    exchanges,
    decide: (given) => void (rule = given),
    list: (given) => void (lists = given),
    behave: (given) => void (behaviour = given),
    version: '1',
    close() {
      server.closeAllConnections();
      return new Promise((done) => server.close(() => done()));
    },
  };

  const ask = (question: ReceivedQuestion) => {
    asked.push(question);
    return rule(question);
  };
  // biome-ignore lint/suspicious/noExplicitAny: the tests inspect what arrives
  const answers: Record<string, (body: any) => unknown> = {
    '/api/v1/decisions:check': batonAnswer,
    '/api/v1/decisions:batch-check': ({ items }) => ({ items: items.map(batonAnswer) }),
    '/api/v1/decisions:list-objects': ({ principalId, action, resourceType }) => ({
      objects: lists(principalId, action, resourceType),
      modelVersion: policy.version,
      evaluatedAt: new Date().toISOString(),
    }),
    '/access/v1/evaluation': evaluation,
    '/access/v1/evaluations': ({ evaluations, ...common }) => ({
      evaluations: evaluations.map((item: object) => evaluation({ ...common, ...item })),
    }),
    '/access/v1/search/resource': ({ subject, action, resource }) => ({
      results: lists(subject.id, action.name, resource.type).map((id) => ({ type: resource.type, id })),
      page: { next_token: '' },
    }),
  };
  return policy;

  // biome-ignore lint/suspicious/noExplicitAny: as above
  function batonAnswer({ principalId, action, resource, context, consistency }: any) {
    const allowed = ask({
      who: principalId,
      kind: context.principalType,
      action,
      resource: `${resource.type}:${resource.id}`,
      tuples: context.contextualTuples,
      consistency,
    });
    return {
      allowed,
      reasonCode: allowed ? 'allowed' : 'denied_no_binding',
      decisionId: `decision-${asked.length}`,
      policyVersion: policy.version,
      modelVersion: '1',
      evaluatedAt: new Date().toISOString(),
      action,
      resource,
    };
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above
  function evaluation({ subject, action, resource, context }: any) {
    const decision = ask({
      who: subject.id,
      kind: subject.type,
      action: action.name,
      resource: `${resource.type}:${resource.id}`,
      tuples: context.contextualTuples,
      properties: resource.properties,
    });
    return { decision, context: { reasonCode: decision ? 'allowed' : 'not_in_team' } };
  }

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of req.setEncoding('utf8')) text += String(chunk);
    const path = req.url ?? '';
    const body = JSON.parse(text);
    if (path === '/api/v1/tokens/exchange') {
      exchanges.push({ audience: body.audience, scopes: body.scopes });
      return giveToken(res);
    }
    keepMessage({ authorization: req.headers.authorization ?? '' }, '');
    requests.push({ path, body, authorization: req.headers.authorization });
    if ((await behaviour?.(path, body as never, res)) === 'answered') return;
    const judge = answers[path];
    if (judge === undefined) return send(res, 404, { detail: 'not found' });
    send(res, 200, judge(body));
  }

  function giveToken(res: ServerResponse): void {
    tokens += 1;
    const accessToken = `policy-access-token-of-the-tests-${tokens}`;
    keepSecret('access token', accessToken);
    send(res, 200, { accessToken, tokenType: 'Bearer', expiresIn: 300 });
  }
}

function send(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
