import { z } from 'zod';

/** The number of reachable elements that the tests have reached (docs/reference/packages.md#tests). */

/** The maximum number of listed names of unreached elements. */
const missingMax = 100;

export const Coverage = z
  .strictObject({
    covered: z.int(),
    total: z.int(),
    missing: z
      .array(z.string())
      .max(missingMax)
      .meta({ description: `Elements that were not reached, at most ${missingMax}.` }),
  })
  .meta({ id: 'PackageCoverage' });
export type Coverage = z.infer<typeof Coverage>;

export function coverageOf(all: ReadonlySet<string>, reached: ReadonlySet<string>): Coverage {
  const missing = [...all].filter((name) => !reached.has(name));
  const shown = missing.slice(0, missingMax);
  return { covered: all.size - missing.length, total: all.size, missing: shown };
}
