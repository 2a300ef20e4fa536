import { newState } from '@baton/process-engine/engine/engine';
import { activityId } from '@baton/process-engine/engine/ids/activity-ids';
import type { EventRoot } from '@baton/process-engine/engine/state';
import type { JsonObject } from '@baton/values/wire';
import type { Caller } from '../../service/caller.ts';
import type { Context } from '../context.ts';
import { toolsFor, useDefinition } from './definitions-in-use.ts';
import type { InstanceRow } from './instance.ts';
import { insertInput, insertInstance, readClock } from './instances.sql.ts';
import { linksMax, loopFault } from './loops/links.ts';
import { storeInputFirst, takeOrStore } from './take-input.ts';

/** Starts instances (docs/reference/processes.md#instances). */

export interface Start {
  readonly id: string;
  readonly definitionKey: string;
  readonly version: number;
  readonly instanceKey: string;
  /** Undefined for the workspace of the definition. */
  readonly workspaceId?: string | null | undefined;
  readonly data: JsonObject;
  readonly agent: Caller | undefined;
  readonly event: EventRoot | null;
  /** The length of the chain of process triggers that led to the start. */
  readonly links?: number;
}

/**
 * @param waitMs the maximum wait for another transaction that is starting an instance with the key
 * @returns undefined if an instance with the key is running, or this event has already started it
 */
export async function startInstance(
  context: Context,
  start: Start,
  waitMs: number | null = null,
): Promise<InstanceRow | undefined> {
  const { db, tenantId } = context;
  const { id, definitionKey, version, instanceKey, data, agent, event, links = 0 } = start;
  const use = await useDefinition(context, definitionKey, version);
  const startedAt = event?.time ?? ((await db.row(readClock())) as { now: string }).now;
  const state = { ...newState(use.definition, { id, key: instanceKey, startedAt, data }), links };
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
  await db.run(insertInput(tenantId, id, sourceRef, links));
  const running = { row, definition: use.definition, tools: await toolsFor(context, use), agent, links };
  const input = { kind: 'start', at: startedAt, event } as const;
  if (links > linksMax) return storeInputFirst(context, running, input, sourceRef, loopFault);
  return takeOrStore(context, running, input, sourceRef);
}

/** An event starts at most one instance of a definition, even if that instance has already ended. */
export function startedInstanceId(definitionKey: string, event: EventRoot): string {
  return activityId(event.id, definitionKey, 1, 'instance');
}

/** @returns undefined, also if the chain of triggers that led to the event is too long, so that the loop ends */
export async function startByEvent(
  context: Context,
  start: Pick<Start, 'definitionKey' | 'version' | 'instanceKey' | 'agent'> & {
    event: EventRoot;
    links: number;
  },
): Promise<InstanceRow | undefined> {
  const id = startedInstanceId(start.definitionKey, start.event);
  if (start.links > linksMax + 1) {
    const { definitionKey, event, links } = start;
    context.log.warn(
      { tenantId: context.tenantId, definitionKey, eventId: event.id, links },
      'loop of processes stopped',
    );
    return undefined;
  }
  return startInstance(context, { ...start, id, data: {} });
}
