import { z } from 'zod';

/** What the steps of tests have reached of what there is to reach (docs/reference/packages.md#tests). */

/** Names that are shown of what was not reached. */
const missingMax = 100;

export const Coverage = z
  .strictObject({
    covered: z.int(),
    total: z.int(),
    missing: z
      .array(z.string())
      .max(missingMax)
      .meta({ description: `What was not reached, the first ${missingMax}.` }),
  })
  .meta({ id: 'PackageCoverage' });
export type Coverage = z.infer<typeof Coverage>;

export function coverageOf(all: ReadonlySet<string>, reached: ReadonlySet<string>): Coverage {
  const missing = [...all].filter((name) => !reached.has(name));
  const shown = missing.slice(0, missingMax);
  return { covered: all.size - missing.length, total: all.size, missing: shown };
}
