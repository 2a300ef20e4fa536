import type { RowOf } from '@baton/kernel/database/row';
import type { JsonObject } from '@baton/values/wire';
import type { Tables } from '../../service/schema.ts';

/** Links a run to the task that it launched, and to the run that works on it. */
export type ChildHandleRow = RowOf<Tables['child_handles'], { data: JsonObject | null }>;

/** A handle with the workspace of the parent's task, for the events on the parent's run. */
export type ChildHandleOfParentRow = ChildHandleRow & { parent_workspace_id: string | null };
