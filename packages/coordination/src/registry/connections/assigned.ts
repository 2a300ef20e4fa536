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

/** Which agents have which connections: those that their current specs name (organisation, sections 12.1 and 13.2). */

/** Agents that a connection is answered with. */
const agentsMax = 200;

/** Those of the keys that the tenant has. */
export async function findConnectionKeys(
  { db, tenantId }: Context,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set();
  return new Set((await db.rows(findKeys(tenantId, keys))).map(({ key }) => key));
}

/** Gives an agent the connections that its new spec names, in the transaction that publishes it. */
export function assignConnections(
  { db, tenantId }: Context,
  agentId: string,
  keys: readonly string[],
): Promise<unknown> {
  return db.run(replaceAssigned(tenantId, agentId, keys));
}

/** The keys of the agents that have a connection, in their order: the first 200. */
export async function agentsWith({ db, tenantId }: Context, key: string): Promise<string[]> {
  return (await db.rows(findAgentsOf(tenantId, key, agentsMax))).map((row) => row.key);
}

/** The connections of the agent that the caller is. @throws Refusal `not_found` for one that is none */
export async function listOwnConnections(context: Context): Promise<{ items: Connection[] }> {
  const { db, tenantId, caller } = context;
  if (caller.agentId == null) return fail('not_found', { principalId: caller.principalId });
  return { items: (await db.rows(findConnectionsOfAgent(tenantId, caller.agentId))).map(connectionOf) };
}

/** @throws Refusal `not_found` for a connection that the caller's spec does not name, and for a caller that is no agent */
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
