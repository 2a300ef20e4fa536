import { join } from 'node:path';
import { createTestDatabase } from '@baton/kernel/testing/database/database';
import { dumpSchema } from '@baton/kernel/testing/schema/schema-dump';
import { writeTableTypes } from '@baton/kernel/testing/schema/schema-types';
import type { GeneratedFile } from './generated-file.ts';

/**
 * Generates `schema.sql`, to read and compare, and `schema.ts`, for the query builder, from the migrations of each
 * service.
 */
export async function writeSchemas(
  root: string,
  services: readonly { readonly name: string }[],
): Promise<GeneratedFile[]> {
  const files: GeneratedFile[] = [];
  for (const { name } of services) {
    const folder = `packages/${name}`;
    const database = await createTestDatabase(join(root, folder, 'migrations'));
    try {
      const schema = await dumpSchema(database.url);
      const types = await writeTableTypes(database.url);
      const intro = `-- GENERATED from migrations/ by: npm run generate\n-- The whole schema of ${name}, to read and to review; the migrations make it.\n\n`;
      files.push(
        { path: `${folder}/schema.sql`, text: `${intro}${schema}` },
        {
          path: `${folder}/src/service/schema.ts`,
          text: `// GENERATED from migrations/ by: npm run generate\n${types}`,
        },
      );
    } finally {
      await database.drop();
    }
  }
  return files;
}
