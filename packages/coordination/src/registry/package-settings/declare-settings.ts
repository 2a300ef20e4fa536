import { z } from 'zod';
import type { JsonObject } from '@baton/values/wire';
import { checkDocument, refuseSecretText } from '../../service/documents.ts';
import { canonicalHash } from '../../service/durable-text/canonical.ts';
import { checkStoredSchema } from '../../service/stored-schema.ts';
import type { Context } from '../context.ts';
import { updateDeclaration } from './package-settings.sql.ts';
import type { SettingsDeclaration } from './package-settings.ts';

const Declaration = z.strictObject({
  title: z.string().min(1).max(200),
  schema: z.unknown(),
  uischema: z.unknown(),
});

/**
 * @param sent the spec of a document of kind Settings
 * @throws Refusal those of a JSON Schema and of a document; ZodError for a malformed spec
 */
export function readDeclaration(sent: JsonObject): SettingsDeclaration {
  const { title, schema, uischema } = Declaration.partial({ uischema: true }).parse(sent);
  refuseSecretText(title, 'title');
  checkStoredSchema(schema, { field: 'schema' });
  if (uischema != null) checkDocument(uischema, { field: 'uischema' });
  const schemaHash = canonicalHash(schema, { fractions: 'allowed' });
  return { title, schema, uischema: uischema ?? null, schemaHash };
}

/** Declares the settings of an installed package; null removes the declaration and keeps the stored values. */
export async function declareSettings(
  { db, tenantId }: Context,
  key: string,
  declaration: SettingsDeclaration | null,
): Promise<void> {
  await db.run(updateDeclaration(tenantId, key, declaration));
}
