import { readingBounds } from '../import/read-source.ts';

/** The reasons why `baton import baton` can't read an export unchanged, one sentence per reason; empty if it can. */
export function beyondImport({ tasks, bytes }: { readonly tasks: number; readonly bytes: number }): string[] {
  const { itemsMax, fileBytesMax } = readingBounds;
  return [
    ...(tasks > itemsMax ? [`It has more than ${itemsMax} tasks: baton import baton can't import it.`] : []),
    ...(bytes > fileBytesMax
      ? [
          `It is larger than ${fileBytesMax / 1024 / 1024} MiB: baton import baton can't import it; --tasks-only makes it smaller.`,
        ]
      : []),
  ];
}
