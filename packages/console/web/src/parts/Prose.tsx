import { type ComponentType, lazy, Suspense } from 'react';
import type { Task } from '@baton/sdk';
import { PlainText } from '../markdown/PlainText.tsx';
import { commitAddressOf } from '../markdown/repository.ts';

/** Without the parser, for instance because a newer console has replaced its file, the text itself is shown. */
const MarkdownView = lazy<ComponentType<ViewProps>>(() =>
  import('../markdown/MarkdownView.tsx').catch(() => ({ default: PlainText })),
);

interface ViewProps {
  readonly text: string;
  readonly commitAddress: string | undefined;
}

interface ProseProps {
  /** From outside. */
  readonly text: string;
  /** The task that the text is about. Its evidence shows to which repository the text's commits belong. */
  readonly task?: Pick<Task, 'evidence'>;
  readonly isSoft?: boolean;
}

/** A text that people and agents write, with its Markdown. The text itself is shown until the parser has loaded. */
export function Prose({ text, task, isSoft = false }: ProseProps) {
  return (
    <div className={isSoft ? 'soft' : undefined} dir="auto">
      <Suspense fallback={<PlainText text={text} />}>
        <MarkdownView text={text} commitAddress={task && commitAddressOf(task)} />
      </Suspense>
    </div>
  );
}
