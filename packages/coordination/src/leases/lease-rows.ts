import type { RowOf } from '@baton/kernel/database/row';
import type { JsonObject } from '@baton/values/wire';
import type { Tables } from '../service/schema.ts';

/** Rows of what lives under a lease: the session that holds it, the claim, and the run. */

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

/** What the end of a session or a principal left to do when it was acknowledged (core, section 25). */
export type EndingRow = RowOf<Tables['endings']>;
