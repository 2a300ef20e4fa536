import { executeDueOutcomes } from '../../results/outcomes/outcome-job.ts';
import type { Actor, TestCoordination } from '../coordination.ts';
import { insertTestType } from '../definitions/task-type.ts';
import { done, makeTask } from '../leases.ts';
import { makeWorkerTools } from '../sweepers.ts';

/** Decides gates of tasks whose types declare outcomes, and lets the worker execute them. */
export function outcomeTester(baton: TestCoordination, person: Actor) {
  const logged: string[] = [];
  const worker = makeWorkerTools(baton, logged);
  let types = 0;
  return {
    logged,
    close: worker.close,
    /** One batch of a worker that has postponed no entries. */
    work: () => executeDueOutcomes(worker.tools).run(),
    /** A task with a pending gate; its type declares these outcomes. */
    async gate(outcomes: object, more: { task?: object; preconditions?: object[]; approval?: object } = {}) {
      types += 1;
      const typeKey = `gated-${types}-${baton.tenantId.slice(-4)}`;
      const { preconditions } = more;
      const gate = { outcomes, ...(preconditions && { preconditions: { approved: preconditions } }) };
      await insertTestType(baton, { key: typeKey, approvalSchema: { gates: { default: gate } } });
      const task = await makeTask(baton, { typeKey, ...more.task });
      const request = {
        task: task.id,
        gate: true,
        assignedPrincipalId: person.principalId,
        ...more.approval,
      };
      return { task, id: (await done(baton.admin.post('/approvals', request), 201)).id as string };
    },
    decide: (id: string, verb = 'approve', body: object = {}) =>
      done(person.post(`/approvals/${id}:${verb}`, body)),
    outcome: (id: string) => done(baton.admin.get(`/approvals/${id}/outcome`)),
    task: (id: string) => done(baton.admin.get(`/tasks/${id}`)),
  };
}
