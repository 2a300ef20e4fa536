import { z } from 'zod';
import { idParams } from '@baton/values/keys';
import { QueryWord, Uuid } from '@baton/values/wire';
import { invocationCancelled } from '../../leases/invocations/invocations.events.ts';
import { approvalCancelled } from '../../results/approvals/approvals.events.ts';
import { invocationRequested } from '../../results/invocations/invocations.events.ts';
import { observationRecorded } from '../../results/observations/observations.events.ts';
import { approvalRequested } from '../../work/gates/gates.events.ts';
import {
  externalReferenceAdded,
  externalReferenceRemoved,
} from '../../work/relations/external-references/external-references.events.ts';
import { taskCreated, taskUpdated } from '../../work/tasks/tasks.events.ts';
import { endpoint } from '../context.ts';
import {
  Cancellation,
  InstanceRequest,
  journalKinds,
  ProcessInstance,
  ProcessInstancePage,
  ProcessJournalPage,
  Resumption,
  Skip,
  Suspension,
} from './instance.ts';
import { processEvents } from './instances.events.ts';
import {
  cancelInstance,
  createInstance,
  getInstance,
  listInstanceJournal,
  listInstances,
  resumeInstance,
  skipElement,
  suspendInstance,
} from './instances.ts';

const {
  'process.started': started,
  'process.resumed': resumed,
  'process.failed': failed,
  'process.cancelled': cancelled,
  'process.suspended': suspended,
  'process.stage_entered': stageEntered,
  'process.stage_exited': stageExited,
  'process.milestone_reached': milestoneReached,
  'process.milestone_lost': milestoneLost,
  // Events caused by timers and other events are written only by the worker.
  'process.correlated': _correlated,
  'process.timer_fired': _fired,
  'process.sla_warning': _warning,
  'process.sla_breached': _breached,
  'process.escalated': _escalated,
  'process.recall_completed': _recalled,
  'process.recall_timed_out': _notRecalled,
  'process.migrated': migrated,
  ...ofSteps
} = processEvents;
/**
 * All events that may be written when an instance is resumed: each of its lists of steps continues until it has to wait
 * or ends.
 */
const goingOn = [
  suspended,
  ...Object.values(ofSteps),
  taskCreated,
  taskUpdated,
  externalReferenceAdded,
  externalReferenceRemoved,
  approvalRequested,
  approvalCancelled,
  invocationRequested,
  invocationCancelled,
  observationRecorded,
];
const inStages = [stageEntered, stageExited, milestoneReached, milestoneLost];
const stateErrors = ['not_found', 'invalid_process_instance_state'] as const;

export const processInstancesApi = [
  endpoint({
    id: 'createProcessInstance',
    method: 'POST',
    path: '/process-instances',
    summary: 'Start an instance of a process.',
    description:
      'Starts an instance of the newest version. It acts as the agent of the definition. The key of an ended instance may be reused.',
    permission: 'processes.operate',
    body: InstanceRequest,
    returns: { 201: ProcessInstance },
    errors: [
      'not_found',
      'workspace_archived',
      'process_retired',
      'invalid_document',
      'payload_too_deep',
      'payload_too_large',
      'secret_material_rejected',
      'invalid_process_data',
      'process_instance_exists',
      'process_definition_unusable',
      'catalog_key_busy',
    ],
    emits: [started, failed, ...goingOn, ...inStages],
    example: { process: 'change', key: 'CHG-1', data: {} },
    handle: ({ body }, context) => createInstance(context, body),
  }),
  endpoint({
    id: 'listProcessInstances',
    method: 'GET',
    path: '/process-instances',
    summary: 'List instances of processes, newest first.',
    permission: 'processes.read',
    query: {
      definitionKey: QueryWord.optional(),
      instanceKey: QueryWord.optional(),
      status: QueryWord.optional(),
      workspaceId: Uuid.optional(),
      slaState: z.enum(['breached', 'warning']).optional(),
    },
    paging: true,
    returns: { 200: ProcessInstancePage },
    errors: ['invalid_status', 'invalid_cursor'],
    handle: ({ query, page }, context) => listInstances(context, query, page),
  }),
  endpoint({
    id: 'getProcessInstance',
    method: 'GET',
    path: '/process-instances/{id}',
    summary: 'Read an instance of a process.',
    permission: 'processes.read',
    params: idParams,
    returns: { 200: ProcessInstance },
    errors: ['not_found'],
    handle: ({ params }, context) => getInstance(context, params.id),
  }),
  endpoint({
    id: 'listProcessInstanceJournal',
    method: 'GET',
    path: '/process-instances/{id}/journal',
    summary: 'List the journal of an instance, oldest first.',
    permission: 'processes.read',
    params: idParams,
    query: { kind: z.enum(journalKinds).optional() },
    paging: true,
    returns: { 200: ProcessJournalPage },
    errors: ['not_found', 'invalid_cursor'],
    handle: ({ params, query, page }, context) => listInstanceJournal(context, params.id, query.kind, page),
  }),
  endpoint({
    id: 'suspendProcessInstance',
    method: 'POST',
    path: '/process-instances/{id}:suspend',
    summary: 'Suspend an instance: its timers stop, and events are stored.',
    permission: 'processes.operate',
    params: idParams,
    body: Suspension,
    returns: { 200: ProcessInstance },
    errors: stateErrors,
    // A called instance may start with this input.
    emits: [started, processEvents['process.sla_failed'], suspended],
    example: { reason: 'the supplier is being changed' },
    handle: ({ params, body }, context) => suspendInstance(context, params.id, body.reason),
  }),
  endpoint({
    id: 'resumeProcessInstance',
    method: 'POST',
    path: '/process-instances/{id}:resume',
    summary: 'Resume a suspended instance and retry the input that failed.',
    description:
      'If `suspension` has the code `migration_failed`, the migration to the later version of the definition is retried; if it fails again, the instance stays suspended.',
    permission: 'processes.operate',
    params: idParams,
    body: Resumption,
    bodyOptional: true,
    returns: { 200: ProcessInstance },
    errors: stateErrors,
    emits: [resumed, migrated, cancelled, failed, ...goingOn, ...inStages],
    example: { reason: 'the supplier is known' },
    handle: ({ params, body }, context) => resumeInstance(context, params.id, body.reason ?? null),
  }),
  endpoint({
    id: 'skipProcessElement',
    method: 'POST',
    path: '/process-instances/{id}:skip',
    summary: 'Skip the step that failed.',
    permission: 'processes.operate',
    params: idParams,
    body: Skip,
    returns: { 200: ProcessInstance },
    errors: stateErrors,
    emits: [resumed, cancelled, failed, ...goingOn, ...inStages],
    example: { element: 'notify', reason: 'done by hand' },
    handle: ({ params, body }, context) => skipElement(context, params.id, body.element, body.reason),
  }),
  endpoint({
    id: 'cancelProcessInstance',
    method: 'POST',
    path: '/process-instances/{id}:cancel',
    summary: 'Cancel an instance; it is compensated first, unless `compensate` is false.',
    description:
      'If a compensation step fails, the instance is suspended with the reason in `suspension`: `:resume` and a second `:cancel` retry that step, `:skip` skips it, and `:cancel` with `compensate` false ends the instance as it is.',
    permission: 'processes.operate',
    params: idParams,
    body: Cancellation,
    returns: { 200: ProcessInstance },
    errors: stateErrors,
    emits: [started, stageExited, cancelled, resumed, ...goingOn],
    example: { reason: 'ordered twice' },
    handle: ({ params, body }, context) => cancelInstance(context, params.id, body.reason, body.compensate),
  }),
];
