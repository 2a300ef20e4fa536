import { lazy, Suspense } from 'react';
import { PlainText } from './PlainText.tsx';

const MarkdownView = lazy(() => import('./MarkdownView.tsx'));

interface MarkdownProps {
  /** From outside. */
  readonly text: string;
  readonly isSoft?: boolean;
}

/** A text that people and agents write, with its Markdown. The text itself is shown until the parser has loaded. */
export function Markdown({ text, isSoft = false }: MarkdownProps) {
  return (
    <div className={isSoft ? 'soft' : undefined} dir="auto">
      <Suspense fallback={<PlainText text={text} />}>
        <MarkdownView text={text} />
      </Suspense>
    </div>
  );
}
