import { z } from 'zod';
import { wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';

export interface AgentConnectorRow {
  person_id: string;
  display_name: string;
  created_at: string;
}

/** A person who may connect OAuth clients as an agent. */
export const AgentConnector = z
  .strictObject({ personId: Uuid, displayName: z.string(), createdAt: Timestamp })
  .meta({ id: 'AgentConnector' });
export type AgentConnector = z.infer<typeof AgentConnector>;

export const agentConnectorOf = wireMapper<AgentConnectorRow>()(AgentConnector, {});

export const AgentConnectorList = z
  .strictObject({ items: z.array(AgentConnector) })
  .meta({ id: 'AgentConnectorList' });
