"""Static embedding models of other libraries: read, written, and exchanged with the Hugging Face Hub."""
