import { lazy, Suspense } from 'react';
import type { Task } from '@baton/sdk';
import { PlainText } from './PlainText.tsx';
import { commitAddressOf } from './repository.ts';

const MarkdownView = lazy(() => import('./MarkdownView.tsx'));

interface MarkdownProps {
  /** From outside. */
  readonly text: string;
  /** The task that the text is about. Its evidence shows to which repository the text's commits belong. */
  readonly task?: Pick<Task, 'evidence'>;
  readonly isSoft?: boolean;
}

/** A text that people and agents write, with its Markdown. The text itself is shown until the parser has loaded. */
export function Markdown({ text, task, isSoft = false }: MarkdownProps) {
  return (
    <div className={isSoft ? 'soft' : undefined} dir="auto">
      <Suspense fallback={<PlainText text={text} />}>
        <MarkdownView text={text} commitAddress={task && commitAddressOf(task)} />
      </Suspense>
    </div>
  );
}
