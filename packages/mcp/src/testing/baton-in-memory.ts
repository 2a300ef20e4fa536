import { type BatonClient, createClient } from '@baton/sdk';

/** The response: a body, sent with status 200, or a whole response. */
export type InMemoryAnswer = object | Response;

export interface BatonInMemory {
  readonly baton: BatonClient;
  /** The received calls, such as `claim-next` or `release`: the text after the last colon or slash of their paths. */
  readonly calls: string[];
  /** Counts the calls with this name. */
  count(call: string): number;
}

/**
 * Creates a client of an in-memory Baton, which opens sessions and returns tasks, each with a claim and a run. Calls
 * are retried only on request.
 * @param changed responses that replace the usual ones, by the call; undefined keeps the usual one
 */
export function batonInMemory(
  changed: Readonly<Record<string, (url: URL) => InMemoryAnswer | undefined>> = {},
): BatonInMemory {
  const calls: string[] = [];
  const count = (call: string) => calls.filter((one) => one === call).length;
  const usual = (call: string): object => {
    const number = count(call);
    if (call === 'sessions') return { id: `session-${number}`, status: 'active' };
    if (call === 'context') return { permissions: ['task_types.read'], activeClaims: [], activeRuns: [] };
    if (call === 'start-run') return { id: `run-${number}`, status: 'running' };
    if (call !== 'claim-next') return {};
    const task = { id: `task-${number}`, publicId: `TASK-${number}` };
    return { items: [{ task, claim: { id: `claim-${number}`, taskId: task.id, fencingToken: 1 } }] };
  };
  const baton = createClient({
    url: 'http://baton.test',
    credential: { accessToken: async () => ({ accessToken: 'token', expiresIn: 300 }) },
    attempts: 1,
    transport: async ({ url: text }) => {
      const url = new URL(text);
      const call = url.pathname.slice(
        Math.max(...[...'/:'].map((mark) => url.pathname.lastIndexOf(mark))) + 1,
      );
      calls.push(call);
      const answer = changed[call]?.(url) ?? usual(call);
      return answer instanceof Response ? answer : Response.json(answer);
    },
  });
  return { baton, calls, count };
}

/** An error response from Baton. */
export function refusalInMemory(status: number, code: string): Response {
  return Response.json({ error: { code, message: `it is ${code}` } }, { status });
}
