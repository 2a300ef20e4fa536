import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import {
  findAgentsOf,
  findConnectionOfAgent,
  findConnectionsOfAgent,
  findKeys,
  replaceAssigned,
} from './assigned.sql.ts';
import { type Connection, type ConnectionRow, connectionOf } from './connection.ts';

/** The connections of agents: those that their current specs list. See docs/reference/connections.md#connections. */

/** Maximum number of agents in the response for a connection. */
const agentsMax = 200;

/** Those of the given keys that exist in the tenant. */
export async function findConnectionKeys(
  { db, tenantId }: Context,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set();
  return new Set((await db.rows(findKeys(tenantId, keys))).map(({ key }) => key));
}

/** Assigns an agent the connections in its new spec, in the transaction that publishes it. */
export function assignConnections(
  { db, tenantId }: Context,
  agentId: string,
  keys: readonly string[],
): Promise<unknown> {
  return db.run(replaceAssigned(tenantId, agentId, keys));
}

/** The keys of the agents that have a connection, in order: the first 200. */
export async function agentsWith({ db, tenantId }: Context, key: string): Promise<string[]> {
  return (await db.rows(findAgentsOf(tenantId, key, agentsMax))).map((row) => row.key);
}

/** The connections of the calling agent. @throws Refusal `not_found` if the caller is not an agent */
export async function listOwnConnections(context: Context): Promise<{ items: Connection[] }> {
  const { db, tenantId, caller } = context;
  if (caller.agentId == null) return fail('not_found', { principalId: caller.principalId });
  return { items: (await db.rows(findConnectionsOfAgent(tenantId, caller.agentId))).map(connectionOf) };
}

/**
 * @throws Refusal `not_found` for a connection that is not in the caller's spec, and for a caller that is not an agent
 */
export async function getOwnConnection(context: Context, key: string): Promise<Connection> {
  const row = await findOwnConnection(context, key);
  return row === undefined ? fail('not_found', { connection: key }) : connectionOf(row);
}

export async function findOwnConnection(
  { db, tenantId, caller }: Context,
  key: string,
): Promise<ConnectionRow | undefined> {
  return caller.agentId == null ? undefined : db.row(findConnectionOfAgent(tenantId, caller.agentId, key));
}
