import { z } from 'zod';
import { FreeObject, type JsonObject, Uuid } from '@baton/values/wire';
import { skillProtocols, skillStatuses } from '../../organisation/skills/skill.ts';

/** Why a tool is or isn't callable. Tools that governance or a grant refuses are omitted without a reason. */
const toolReasons = [
  'assigned_and_protocol_supported',
  'not_assigned',
  'skill_disabled',
  'protocol_not_allowed_by_governance',
  'not_granted_by_child_handle',
  'protocol_not_supported_by_harness',
] as const;

export const summaryCharactersMax = 200;
export const descriptionCharactersMax = 4000;
export const inputSchemaBytesMax = 32_768;

const item = {
  id: Uuid,
  name: z.string(),
  version: z.string(),
  protocol: z.enum(skillProtocols),
  status: z.enum(skillStatuses),
  summary: z
    .string()
    .meta({ description: `The first ${summaryCharactersMax} characters of the description.` }),
  visible: z.boolean().meta({ description: 'Whether the caller can call it now.' }),
  reason: z.enum(toolReasons),
};

/** A skill in the tool catalog. See docs/reference/agents.md#tools. */
export const Tool = z.strictObject(item).meta({ id: 'Tool' });
export type Tool = z.infer<typeof Tool>;

/** What a catalog page depends on: pages with the same hash are equal. */
export const ToolView = z
  .strictObject({
    catalogRevision: z.string().meta({ description: 'Changes with every skill of the tenant.' }),
    policyRevision: z.string().meta({ description: 'Changes with the tools that the caller may use.' }),
    viewHash: z
      .string()
      .meta({ description: 'Hash of both revisions, the query, the limit and the cursor: the ETag.' }),
    mode: z.enum(['eager', 'search']),
    returned: z.int(),
    hasMore: z.boolean(),
  })
  .meta({ id: 'ToolView' });
export type ToolView = z.infer<typeof ToolView>;

export const ToolPage = z
  .strictObject({ items: z.array(Tool), nextCursor: z.string().nullable(), view: ToolView })
  .meta({ id: 'ToolPage' });
export type ToolPage = z.infer<typeof ToolPage>;

const SchemaRedaction = z
  .strictObject({
    path: z.string().meta({ description: 'A JSON pointer into the schema.' }),
    reason: z.literal('secret_material'),
  })
  .meta({ id: 'SchemaRedaction' });
export type SchemaRedaction = z.infer<typeof SchemaRedaction>;

/** A tool with its input schema. */
export const ToolDetail = z
  .strictObject({
    ...item,
    description: z.string().meta({ description: `Its first ${descriptionCharactersMax} characters.` }),
    inputSchema: FreeObject.nullable().meta({
      description:
        'The JSON Schema of the inputs, with the keywords of the draft except default and examples; `null` without inputs.',
    }),
    schemaRedactions: z.array(SchemaRedaction),
  })
  .meta({ id: 'ToolDetail' });
export type ToolDetail = z.infer<typeof ToolDetail>;

/** The fields of a skill that the catalog reads. */
export interface ToolRow {
  id: string;
  name: string;
  version: string;
  protocol: (typeof skillProtocols)[number];
  status: (typeof skillStatuses)[number];
  description: string;
  created_at: string;
}

export type ToolDetailRow = ToolRow & { input_schema: JsonObject | null };

/**
 * @param harnessProtocols the protocols of the sessions; if the list is empty, tools aren't filtered by protocol
 */
export function toolOf(row: ToolRow, harnessProtocols: readonly string[]): Tool {
  const { id, name, version, protocol, status } = row;
  const visible = harnessProtocols.length === 0 || harnessProtocols.includes(protocol);
  const reason = visible ? 'assigned_and_protocol_supported' : 'protocol_not_supported_by_harness';
  const summary = truncate(row.description, summaryCharactersMax);
  return { id, name, version, protocol, status, summary, visible, reason };
}

/** The first characters of a string, without splitting a surrogate pair. */
export function truncate(text: string, charactersMax: number): string {
  return text.length <= charactersMax
    ? text
    : Array.from(text.slice(0, 2 * charactersMax))
        .slice(0, charactersMax)
        .join('');
}
