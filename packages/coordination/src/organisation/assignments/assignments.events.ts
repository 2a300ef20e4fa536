import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { Uuid } from '@baton/values/wire';

/** All of these events are on the principal's stream. */

const role = z.strictObject({ roleId: Uuid, workspaceId: Uuid.nullable() });
const capability = z.strictObject({ capabilityId: Uuid });
const skill = z.strictObject({ skillId: Uuid });

export const roleAssigned = defineEvent('role.assigned', 'principal', role);
export const roleRevoked = defineEvent('role.revoked', 'principal', role);
export const capabilityAssigned = defineEvent('capability.assigned', 'principal', capability);
export const capabilityRevoked = defineEvent('capability.revoked', 'principal', capability);
export const skillAssigned = defineEvent('skill.assigned', 'principal', skill);
export const skillRevoked = defineEvent('skill.revoked', 'principal', skill);
