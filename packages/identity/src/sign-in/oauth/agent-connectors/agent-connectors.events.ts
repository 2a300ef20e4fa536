import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

const Payload = z.strictObject({ principalId: Uuid, personId: Uuid });

export const agentConnectorAdded = defineEvent('agent_connector.added', 'principal', Payload);

/** The grants with which the person had connected clients as the agent are revoked, too. */
export const agentConnectorRemoved = defineEvent('agent_connector.removed', 'principal', Payload);
