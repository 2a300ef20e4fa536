import { Uuid } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { approvalRequested } from '../gates/gates.events.ts';
import { Task } from '../tasks/task.ts';
import { TaskRef } from '../tasks/task-ref.ts';
import { taskTypeMigrated } from './type-migration.events.ts';
import {
  migrateTasks,
  migrateTaskType,
  TypeMigration,
  TypeMigrationBatch,
  TypeMigrationReport,
} from './type-migration.ts';

/** For a task in a bulk migration, these codes give the reason why it was skipped. */
const targetErrors = ['not_found', 'invalid_migration_target', 'invalid_status_map'] as const;

export const typeMigrationApi = [
  endpoint({
    id: 'migrateTaskType',
    method: 'POST',
    path: '/tasks/{ref}:migrate-type',
    summary: 'Migrate a task to another version of its type.',
    description:
      'By default, the target is the newest active version. No principal may be working ' +
      'on the task, not even the caller. Migrating to the current version changes nothing. Approvals of the task are ' +
      'requested again, unless the caller may decide them. Only the publisher of the current version, or a person, ' +
      'may ' +
      'migrate to a version without its checks or required outputs; a principal that had a run of the task never may.',
    permission: 'task_types.manage',
    alsoOneOf: ['tasks.write'],
    ifMatch: 'task',
    etag: 'task',
    params: { ref: TaskRef },
    body: TypeMigration,
    bodyOptional: true,
    returns: { 200: Task },
    errors: [
      'version_conflict',
      ...targetErrors,
      'task_terminal',
      'task_claimed',
      'run_in_progress',
      'verification_pending',
      'approval_pending',
      'incompatible_status',
      'custom_fields_invalid',
      'acceptance_protected',
      'invalid_acceptance',
      'unknown_acceptance_check',
      'not_eligible',
      'payload_too_large',
    ],
    emits: [taskTypeMigrated, approvalRequested],
    example: { typeVersion: 1, statusMap: {} },
    handle: ({ params, body, ifMatch }, context) => migrateTaskType(context, params.ref, ifMatch, body),
  }),
  endpoint({
    id: 'migrateTasksOfType',
    method: 'POST',
    path: '/task-types/{id}:migrate-tasks',
    summary: 'Migrate the tasks of one version of a type to another version, in batches.',
    description:
      'A task that cannot be migrated is skipped, with the reason. A batch ' +
      'may have fewer tasks than requested; continue with `nextCursor` until it is null.',
    permission: 'task_types.manage',
    alsoOneOf: ['tasks.write'],
    params: { id: Uuid },
    body: TypeMigrationBatch,
    bodyOptional: true,
    returns: { 200: TypeMigrationReport },
    errors: [...targetErrors, 'invalid_limit', 'invalid_cursor'],
    emits: [taskTypeMigrated, approvalRequested],
    example: { statusMap: {}, limit: 100 },
    handle: ({ params, body }, context) => migrateTasks(context, params.id, body),
  }),
];
