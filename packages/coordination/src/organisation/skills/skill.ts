import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Description } from '@baton/values/keys';
import { FreeObject, type JsonObject, queryWordCharactersMax, Timestamp, Uuid } from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';
import { PackageLink } from '../package-link.ts';
import type { SkillContract } from './skill-contract.ts';

export const skillProtocols = ['mcp', 'http', 'local', 'opencode', 'custom'] as const;
export const skillStatuses = ['active', 'deprecated', 'disabled'] as const;
export const sideEffectKinds = ['none', 'external_read', 'external_write'] as const;
export const riskLevels = ['low', 'medium', 'high'] as const;

/**
 * A version of a skill. It can be assigned and required and, with a contract, called. See
 * docs/reference/skills.md#skills.
 */
export const Skill = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    name: z.string(),
    version: z.string(),
    description: z.string(),
    protocol: z.enum(skillProtocols),
    config: FreeObject.describe('Empty for readers without org.read.'),
    inputSchema: FreeObject.nullable(),
    outputSchema: FreeObject.nullable(),
    sideEffects: z.enum(sideEffectKinds).nullable(),
    riskLevel: z.enum(riskLevels).nullable(),
    contract: FreeObject.nullable(),
    status: z.enum(skillStatuses),
    rowVersion: z.int().positive(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    package: PackageLink.nullable(),
  })
  .meta({ id: 'Skill' });
export type Skill = z.infer<typeof Skill>;

/** `@` separates the name from the version in references. */
const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^@]*$/, 'must not hold @');
const version = z
  .string()
  .min(1)
  .max(50)
  .regex(/^[^@]*$/, 'must not hold @');
/** The body schema doesn't even check the type of these documents, so that a 422 can describe the error. */
const document = z.unknown().meta({ type: 'object', 'x-maxBytes': documentBytesMax });

export const SkillRequest = z
  .strictObject({
    name,
    version: version.default('1.0.0'),
    description: Description.default(''),
    protocol: z.string().max(queryWordCharactersMax).nullish(),
    config: document.default({}),
    inputSchema: document.nullish(),
    outputSchema: document.nullish(),
    sideEffects: z.enum(sideEffectKinds).nullish(),
    riskLevel: z.enum(riskLevels).nullish(),
    contract: document.nullish(),
  })
  .meta({ id: 'SkillRequest' });
export type SkillRequest = z.output<typeof SkillRequest>;

export const SkillChange = z
  .strictObject({
    description: Description.nullish(),
    status: z.string().max(queryWordCharactersMax).nullish(),
    endpoint: z.string().max(queryWordCharactersMax).nullish(),
    config: document.optional(),
    inputSchema: document.nullish(),
    outputSchema: document.nullish(),
  })
  .meta({ id: 'SkillChange' });
export type SkillChange = z.output<typeof SkillChange>;

/**
 * A skill by its id, by `name@version`, or by its name, which selects the newest active version, otherwise the newest
 * that is not disabled.
 */
export const SkillRef = z.string().min(1).max(251).meta({ description: 'A UUID, a name, or name@version.' });

export type SkillRow = RowOf<
  Tables['skills'],
  {
    package: PackageLink | null;
    config: JsonObject;
    input_schema: JsonObject | null;
    output_schema: JsonObject | null;
    contract: SkillContract | null;
    side_effects: (typeof sideEffectKinds)[number] | null;
    risk_level: (typeof riskLevels)[number] | null;
  }
>;

export const skillOf = wireMapper<SkillRow>()(Skill, {
  contract: ({ contract }) => contract as JsonObject | null,
});
