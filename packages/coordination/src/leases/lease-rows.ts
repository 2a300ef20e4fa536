import type { RowOf } from '@baton/kernel/database/row';
import type { JsonObject } from '@baton/values/wire';
import type { Tables } from '../service/schema.ts';

/** Rows that depend on a lease: the session, the claim and the run. */

export type SessionRow = RowOf<
  Tables['sessions'],
  {
    control_level: 'human_operated' | 'connected';
    environment: JsonObject | null;
    metadata: JsonObject;
  }
>;

export type ClaimRow = RowOf<Tables['claims']>;

export type RunRow = RowOf<
  Tables['runs'],
  {
    input: JsonObject | null;
    output: JsonObject | null;
    metadata: JsonObject;
    instructions_refs: string[] | null;
    costs: Record<string, number>;
  }
>;

/** A run with the workspace of its task, for its events. */
export type EndedRunRow = RunRow & Pick<RowOf<Tables['tasks']>, 'workspace_id'>;

/**
 * The rows that remain to be ended after the end of a session or principal. See
 * docs/reference/sessions.md#consequences-of-an-end.
 */
export type EndingRow = RowOf<Tables['endings']>;
