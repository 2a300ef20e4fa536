import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { queryWordCharactersMax, Timestamp, Uuid } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';
import { TaskRef } from '../tasks/task-ref.ts';

export const relationTypes = ['parent', 'blocks', 'depends_on', 'spawned_by', 'related_to'] as const;

/** A relation between two tasks (docs/reference/relations.md#types). */
export const TaskRelation = z
  .strictObject({
    id: Uuid,
    fromTaskId: Uuid,
    toTaskId: Uuid,
    type: z.enum(relationTypes),
    createdByPrincipalId: Uuid,
    createdAt: Timestamp,
  })
  .meta({ id: 'TaskRelation' });
export type TaskRelation = z.infer<typeof TaskRelation>;

export const TaskRelationRequest = z
  .strictObject({ toTask: TaskRef, type: z.string().max(queryWordCharactersMax) })
  .meta({ id: 'TaskRelationRequest' });
export type TaskRelationRequest = z.output<typeof TaskRelationRequest>;

export type TaskRelationRow = RowOf<Tables['task_relations']>;

export const taskRelationOf = wireMapper<TaskRelationRow>()(TaskRelation, {
  createdByPrincipalId: (row) => row.created_by,
});
