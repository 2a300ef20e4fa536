import { readingBounds } from '../import/reading.ts';

/** What keeps `baton import baton` from reading an export as it is, a sentence for each; empty where nothing does. */
export function beyondImport({ tasks, bytes }: { readonly tasks: number; readonly bytes: number }): string[] {
  const { itemsMax, fileBytesMax } = readingBounds;
  return [
    ...(tasks > itemsMax ? [`It has more than ${itemsMax} tasks: baton import baton does not read it.`] : []),
    ...(bytes > fileBytesMax
      ? [
          `It is larger than ${fileBytesMax / 1024 / 1024} MiB: baton import baton does not read it; --tasks-only makes it smaller.`,
        ]
      : []),
  ];
}
