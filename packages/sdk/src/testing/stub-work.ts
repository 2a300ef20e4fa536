import type { Received, StubAnswer } from './stub-service.ts';

/**
 * Calls of a stub that returns work, such as `claim-next`, `succeed` or `run-1`: the text after the last colon or
 * slash.
 */
export type WorkCall =
  | 'sessions'
  | 'context'
  | 'claim-next'
  | 'start-run'
  | 'me'
  | 'heartbeat'
  | 'succeed'
  | 'fail'
  | 'release'
  | 'close'
  | 'checkpoints'
  | 'comments'
  | 'suspend'
  | 'approvals'
  | 'cancel'
  | `run-${number}`;

/** Responds to a harness's calls of coordination from memory: `count` tasks, one after the other. */
export function stubWork(
  count: number,
  changed: Partial<Record<WorkCall, (request: Received) => StubAnswer | undefined>> = {},
): { answer(request: Received): StubAnswer; readonly calls: string[] } {
  const calls: string[] = [];
  let given = 0;
  const body = (call: WorkCall, url: string): object => {
    const [, number = '1'] = /-(\d+)[:/]/.exec(url) ?? [];
    if (call === 'sessions') return { id: 'session-1', status: 'active' };
    if (call === 'context') return { permissions: ['task_types.read'], activeClaims: [], activeRuns: [] };
    if (call === 'start-run') return { id: `run-${number}`, status: 'running' };
    if (call === 'succeed')
      return { task: { id: `task-${number}`, systemStatusCategory: 'terminal_success' } };
    if (call !== 'claim-next') return {};
    if (given >= count) return { items: [] };
    given += 1;
    const task = { id: `task-${given}`, publicId: `TASK-${given}`, title: `task ${given}` };
    return { items: [{ task, claim: { id: `claim-${given}`, taskId: task.id, fencingToken: given } }] };
  };
  return {
    calls,
    answer(request) {
      const [path = ''] = request.url.split('?');
      const call = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf(':')) + 1) as WorkCall;
      if (call !== 'heartbeat') calls.push(call);
      return changed[call]?.(request) ?? { status: 200, body: body(call, request.url) };
    },
  };
}
