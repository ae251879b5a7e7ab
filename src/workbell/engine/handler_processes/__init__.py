"""Handlers in processes of their own: started when needed, kept warm, and really killed when their time is over."""
