import { z } from 'zod';
import { defineEvent } from '@baton/kernel/http/service';
import { riskLevels, sideEffectKinds, skillProtocols } from './skill.ts';

export const skillRegistered = defineEvent(
  'skill.registered',
  'skill',
  z.strictObject({
    name: z.string(),
    version: z.string(),
    protocol: z.enum(skillProtocols),
    invocable: z.boolean(),
    sideEffects: z.enum(sideEffectKinds).nullable(),
    riskLevel: z.enum(riskLevels).nullable(),
  }),
);

export const skillUpdated = defineEvent(
  'skill.updated',
  'skill',
  z.strictObject({
    changedFields: z.array(z.string()),
    rowVersion: z.int(),
    endpoint: z.strictObject({ from: z.string().nullable(), to: z.string() }).optional(),
  }),
);
