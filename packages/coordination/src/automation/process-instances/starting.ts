import type { JsonObject } from '@baton/kernel/wire';
import type { Caller } from '../../service/caller.ts';
import type { Context } from '../context.ts';
import { newState } from '../process-engine/engine.ts';
import { activityId } from '../process-engine/ids/activity-ids.ts';
import type { EventRoot } from '../process-engine/state.ts';
import { takeOrPark } from './advancing.ts';
import { toolsFor, useDefinition } from './definitions-in-use.ts';
import type { InstanceRow } from './instance.ts';
import { insertInput, insertInstance, readClock } from './instances.sql.ts';

/** How instances begin (organisation, section 15.4). */

export interface Start {
  readonly id: string;
  readonly definitionKey: string;
  readonly version: number;
  readonly instanceKey: string;
  /** Undefined: that of the definition. */
  readonly workspaceId?: string | null | undefined;
  readonly data: JsonObject;
  readonly agent: Caller | undefined;
  readonly event: EventRoot | null;
}

/**
 * @param waitMs for another transaction that starts the key, until the store refuses it
 * @returns undefined where an instance with the key runs, or this event has started it before
 */
export async function startInstance(
  context: Context,
  start: Start,
  waitMs: number | null = null,
): Promise<InstanceRow | undefined> {
  const { db, tenantId } = context;
  const { id, definitionKey, version, instanceKey, data, agent, event } = start;
  const use = await useDefinition(context, definitionKey, version);
  const startedAt = event?.time ?? ((await db.row(readClock())) as { now: string }).now;
  const state = newState(use.definition, { id, key: instanceKey, startedAt, data });
  const row = await db.row(
    insertInstance(
      {
        id,
        tenant_id: tenantId,
        workspace_id: start.workspaceId ?? use.row.workspace_id,
        definition_key: definitionKey,
        definition_version: version,
        instance_key: instanceKey,
        identity_agent: use.row.identity_agent,
        state,
        started_at: startedAt,
      },
      waitMs,
    ),
  );
  if (row === undefined) return undefined;
  const sourceRef = event === null ? 'start' : `event:${event.id}`;
  await db.run(insertInput(tenantId, id, sourceRef));
  const running = { row, definition: use.definition, tools: await toolsFor(context, use), agent };
  return takeOrPark(context, running, { kind: 'start', at: startedAt, event }, sourceRef);
}

/** The same event starts one instance of a definition, whatever becomes of it. */
export function startedInstanceId(definitionKey: string, event: EventRoot): string {
  return activityId(event.id, definitionKey, 1, 'instance');
}

export function startByEvent(
  context: Context,
  start: Pick<Start, 'definitionKey' | 'version' | 'instanceKey' | 'agent'> & { event: EventRoot },
): Promise<InstanceRow | undefined> {
  const id = startedInstanceId(start.definitionKey, start.event);
  return startInstance(context, { ...start, id, data: {} });
}
